"""Gradients, built into the graph."""
