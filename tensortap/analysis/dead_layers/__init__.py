"""Layers that learn nothing, and why."""
