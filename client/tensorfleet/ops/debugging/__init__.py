"""Assertions about values, dtypes and shapes."""
