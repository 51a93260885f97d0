"""Graphs as the service sees them: nodes, and the functions of the library."""
