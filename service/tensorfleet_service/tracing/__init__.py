"""Traces and counts that steps record."""
