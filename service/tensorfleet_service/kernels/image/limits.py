"""Limits on the work that one call of an image op may cause."""

MAX_PIXELS = 1 << 26
"""Pixels of all frames of a file; Pillow itself only warns, of larger files."""

MAX_ATTEMPTS = 100_000
"""Attempts of a search for a part of an image: a second or two."""
