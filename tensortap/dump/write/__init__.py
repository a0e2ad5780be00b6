"""Writes a run: `DumpWriter` (`writer.py`) and the files of one process (`worker_files.py`).

`snapshot_batch.py` turns logged arrays into rows and values, `stats_writer.py` and `values_writer.py` append
them to files, `retention.py` removes old values. `destination.py` chooses the disk or an address; for an
address, `spool.py` holds what waits and `upload.py` sends it. Imports `format/`, core, stats, storage and
system, nothing of `read/`. Begin with `writer.py`.
"""
