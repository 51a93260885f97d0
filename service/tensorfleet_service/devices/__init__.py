"""Cores, memory and GPUs."""
