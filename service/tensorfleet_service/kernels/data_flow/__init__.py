"""Queues, accumulators, datasets, stacks, tensor arrays, dynamic partitions."""
