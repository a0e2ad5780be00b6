"""Recordings: the data needed to run one call of a function again (FORMAT.md, "Recordings").

`recording.py` is a recording in memory, `recording_files.py` one in its run, `bundle.py` one as a separate
file; `recording_manifest.py` describes its parts, `blobs.py` holds its arrays. Imports `format/`, `read/`,
core, storage and system. Begin with `recording.py`.
"""
