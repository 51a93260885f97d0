"""Programs whose imports say `tensorflow`: an import hook, and a doctor that reads them first."""
