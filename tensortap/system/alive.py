"""Whether the process of a worker is still there."""

from __future__ import annotations

import os
import socket
from pathlib import Path


def is_gone(host: str, pid: int) -> bool:
    """Whether a process ran on this host, which has none of its number any more: it has ended, or was killed.

    One in a container may be taken for gone where the container has the host's name.
    """
    if host != socket.gethostname() or pid <= 0 or os.name != "posix":
        return False
    try:
        os.kill(pid, 0)  # signal 0 only asks
        return _is_zombie(pid)
    except (ProcessLookupError, OverflowError):
        return True
    except OSError:  # it is somebody else's
        return False


def _is_zombie(pid: int) -> bool:
    """Whether a process has ended, and nobody has asked yet how; known on Linux."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return False
    return stat.rpartition(b")")[2].split()[:1] == [b"Z"]  # its name, in parentheses, may be anything
