"""Writes a run: `writer.py` is `DumpWriter`, `worker.py` the files of one process.

Below them are a writer for each kind of file, retention of old values, and the way to an address: `spool.py`,
`upload.py`.
"""
