"""Which nodes of two runs are the same."""
