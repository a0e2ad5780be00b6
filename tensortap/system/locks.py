"""Liveness of other processes: file locks that end with their holder, and process numbers."""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path
from typing import IO


def lock_file(fd: int) -> bool | None:
    """Locks a file that this process writes, without waiting.

    Returns whether it did, or another process holds it; None if the system or disk has no locks.
    """
    return _lock(fd, exclusive=True)


def is_locked(file: IO[bytes] | int) -> bool | None:
    """Whether a process holds the file; None if the system or disk has no locks.

    Between some machines, locks of the others are not seen.
    """
    locked = _lock(file, exclusive=False)  # released when the file is closed
    return None if locked is None else not locked


def _lock(file: IO[bytes] | int, exclusive: bool) -> bool | None:
    if sys.platform != "win32":  # there, an open file cannot be removed
        import fcntl

        try:
            fcntl.flock(file, (fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH) | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError:
            return None
        return True
    return None


def is_gone(host: str, pid: int) -> bool:
    """Whether the process ran on this host and has ended or was killed.

    A process in a container may seem dead if the container has the host's name.
    """
    if host != socket.gethostname() or pid <= 0 or os.name != "posix":
        return False
    try:
        os.kill(pid, 0)  # signal 0 only asks
        return _is_zombie(pid)
    except (ProcessLookupError, OverflowError):
        return True
    except OSError:  # another user's process
        return False


def _is_zombie(pid: int) -> bool:
    """Whether a process has ended without being reaped; known on Linux."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return False
    return stat.rpartition(b")")[2].split()[:1] == [b"Z"]  # its name, in parentheses, may be anything
