"""What steps tell about themselves: traces and counts."""
