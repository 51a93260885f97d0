"""Plans of partitions, and the steps that run them."""
