"""The log, Python functions, checkpoints, summaries."""
