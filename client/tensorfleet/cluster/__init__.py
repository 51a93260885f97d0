"""Clusters: their tasks, how they are found, and servers of them."""
