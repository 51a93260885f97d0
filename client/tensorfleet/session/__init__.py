"""Sessions: run signatures, feeds, fetches, and the ways to a master."""
