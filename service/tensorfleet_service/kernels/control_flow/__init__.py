"""Control dependencies."""
