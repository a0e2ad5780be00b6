"""Taps in functions, and the queues that hand tensors over."""
