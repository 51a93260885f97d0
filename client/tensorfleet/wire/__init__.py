"""Frames between processes, connections, and shared memory."""
