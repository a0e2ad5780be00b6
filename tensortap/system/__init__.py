"""The operating system, the user's account and terminal: processes, locks, folders, secrets, progress.

- Processes: each that tensortap starts (replay, analysis, HDF5, last upload) is a
  `subprocess_worker.ChildProcess`, which runs `child_bootstrap.py` first; `sandbox.py` takes the network away
  from one, `locks.py` tells whether one still lives, and `temp_dirs.py` cleans up after those that do not.
- The user: `user_dirs.py` makes folders that nobody else can write to, `redaction.py` hides secrets of
  command lines, `progress_line.py` shows progress on a terminal.

Imports core only. Begin with `subprocess_worker.py`.
"""
