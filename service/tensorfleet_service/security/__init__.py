"""Security of a task: who somebody is, what they may do, and the record of what they did."""
