"""Random graphs over all registered op types, run by both libraries."""
