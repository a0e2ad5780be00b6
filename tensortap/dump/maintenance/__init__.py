"""Repair, pruning, completeness and compaction of runs."""
