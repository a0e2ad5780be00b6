"""Liveness of other processes: file locks that end with their holder, and process numbers."""

from __future__ import annotations

import contextlib
import os
import socket
import sys
from pathlib import Path
from typing import IO


def lock_file(fd: int) -> None:
    """Locks a file that this process writes, where the system and its disk can; callers never wait for it."""
    if sys.platform != "win32":  # there, an open file cannot be removed
        import fcntl

        with contextlib.suppress(OSError):
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)


def is_locked(file: IO[bytes] | int) -> bool | None:
    """Whether a process holds the file; None if the system or disk has no locks.

    Between some machines, locks of the others are not seen.
    """
    if sys.platform != "win32":
        import fcntl

        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)  # let go when the file is closed
        except BlockingIOError:
            return True
        except OSError:
            return None
        return False
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
