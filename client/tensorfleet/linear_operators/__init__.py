"""Linear operators: matrices by what makes them, without all their elements."""
