"""Recordings: what one call of a function needs to run again."""
