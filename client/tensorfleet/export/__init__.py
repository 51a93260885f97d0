"""Graphs in files, as MetaGraphDefs and GraphDefs."""
