"""The operating system: locks, child processes, private and temporary folders, secrets in command lines.

`locks.py` tells whether another process lives, `temp_dirs.py` cleans up after those that do not,
`user_dirs.py` makes folders that nobody else can write to. Imports core only.
"""
