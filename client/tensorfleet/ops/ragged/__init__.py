"""Ragged tensors: tensors whose rows have different lengths."""
