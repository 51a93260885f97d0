"""Security: who a process is to others, and how it tells who they are."""
