"""Commands about the statistics of a run as a whole: `compact` writes them as Parquet, `sql` asks them.

A module a command, as in the package above: `HELP`, `EXAMPLE`, `add_arguments` and `run`.
Imports `core`, `dump`, `importers`, `scale` and `compact`. Begin with `compact.py`.
"""
