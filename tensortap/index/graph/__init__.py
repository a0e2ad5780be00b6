"""Lookups in a run's graphs."""
