"""Sessions: pruning, placing, optimizing and cutting graphs, and running steps on tasks."""
