"""Writes the dump of a run."""
