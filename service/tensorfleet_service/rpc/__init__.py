"""Services of a task: streams and gRPC."""
