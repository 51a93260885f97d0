"""Connections between tasks."""
