"""A run's statistics as Parquet files beside it (FORMAT.md, "Compacted statistics"), and SQL over them.

The files are derived from the dump, which stays the truth. `compactor.py` plans step ranges and publishes
the manifest, `parts.py` holds the tasks that an engine of `scale` runs, `manifest.py` says which files
there are and verifies them, `queries.py` answers SQL, `background.py` compacts runs as they grow.
Imports `core`, `stats`, `storage`, `system`, `dump` and `scale`. Begin with `compactor.py`.
"""
