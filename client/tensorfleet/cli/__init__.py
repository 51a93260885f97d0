"""The `tensorfleet` command."""
