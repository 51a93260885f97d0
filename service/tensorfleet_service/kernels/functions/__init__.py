"""Calls of functions."""
