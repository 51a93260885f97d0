"""Linear algebra on matrices."""
