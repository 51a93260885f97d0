"""Collectives among devices."""
