"""Graphs: operations and tensors, scopes, op definitions, functions, import and export."""
