"""The commands of `tensorfleet` that take a server: up and demo."""
