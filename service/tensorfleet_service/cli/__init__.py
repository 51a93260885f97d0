"""The commands of `tensorfleet` that need the service: up and demo."""
