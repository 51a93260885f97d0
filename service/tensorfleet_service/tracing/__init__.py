"""Traces and counts, which steps keep of themselves."""
