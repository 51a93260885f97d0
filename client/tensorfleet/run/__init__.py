"""Programs that import `tensorflow`: an import hook that redirects them, and a doctor that checks them."""
