"""The public namespaces."""
