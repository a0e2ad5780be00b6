"""Commands about the statistics of a whole run: `compact` writes them as Parquet, `sql` queries them.

A module a command, as in the package above: `HELP`, `EXAMPLE`, `add_arguments` and `run`.
Imports `core`, `dump`, `importers`, `scale` and `compact`. Begin with `compact.py`.
"""
