"""Exact capture: a shadow of the call, with the state before it."""
