"""Security of a task: the identity and the rights of those who use it, and the audit log."""
