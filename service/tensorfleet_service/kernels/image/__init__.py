"""Images."""
