"""Arithmetic, comparisons, reductions, products."""
