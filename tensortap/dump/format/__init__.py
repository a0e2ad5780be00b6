"""The layout of a dump's files (FORMAT.md): paths, rows, frames, graphs, events, small JSON files.

Encoders and decoders of one thing are in one module. Imports nothing of `write/` and `read/`. Begin with
`schema.py` (the columns of a snapshot) and `layout.py` (where files lie).
"""
