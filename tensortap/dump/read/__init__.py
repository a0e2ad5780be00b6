"""Reads runs, also while they are written, and recovers the readable part of damaged ones.

`runs.py` finds runs and their workers, `stats_reader.py` follows the commits of a worker, `values_reader.py`
reads values and slices of them.
"""
