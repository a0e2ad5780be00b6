"""The operating system, the user's account and terminal: processes, locks, folders, secrets, progress.

- Processes: each that tensortap starts (replay, analysis, HDF5, last upload) is a
  `subprocess_worker.ChildProcess`, which runs `child_bootstrap.py` first; `sandbox.py` removes network access
  from a process, `locks.py` checks whether one is alive, `temp_dirs.py` cleans up after dead ones, and
  `host_memory.py` says how much memory is available.
- The user: `user_dirs.py` creates folders that other users cannot write to, `redaction.py` hides secrets of
  command lines, `progress_line.py` shows progress on a terminal.

Imports core only. Begin with `subprocess_worker.py`.
"""
