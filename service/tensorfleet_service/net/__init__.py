"""Ways between tasks."""
