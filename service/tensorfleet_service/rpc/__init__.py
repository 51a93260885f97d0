"""What a task serves: streams and gRPC."""
