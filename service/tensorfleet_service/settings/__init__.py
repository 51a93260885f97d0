"""Settings of a task: flags and environment variables."""
