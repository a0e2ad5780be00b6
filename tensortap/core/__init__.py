"""Shared by all other packages: names, dtypes, errors, text, the records of a dump.

No files, no processes, and nothing of tensortap is imported here. Begin with `records.py` (summaries, nodes,
graphs), `dtypes.py` (arrays in their normal form) and `errors.py`.
"""
