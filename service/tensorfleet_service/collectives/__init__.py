"""The algorithm of collectives, without I/O."""
