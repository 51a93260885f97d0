"""Threads that wait and are woken: futures, the pool, run queues, deadlines."""
