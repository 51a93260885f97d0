"""Metrics, health and logs."""
