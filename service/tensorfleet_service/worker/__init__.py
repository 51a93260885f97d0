"""A task's worker: its graphs, steps and resources."""
