"""A task's worker: graphs, steps, resources."""
