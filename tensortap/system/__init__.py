"""The operating system: locks, worker processes, private and temporary folders, secrets in command lines.

`locks.py` tells whether another process lives, `temp_dirs.py` cleans up after those that do not,
`user_dirs.py` makes folders that nobody else can write to. Every process that tensortap starts (replay,
analysis, HDF5, last upload) is a `subprocess_worker.Worker`. Imports core only.
"""
