"""Ops with effects outside of the graph: the log, Python functions, checkpoints, summaries."""
