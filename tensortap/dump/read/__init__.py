"""Reads the dump of a run."""
