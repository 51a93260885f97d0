"""State that outlives a step: resources, queues, accumulators, random streams."""
