"""Settings of a task: what can be set, and how the environment spells it."""
