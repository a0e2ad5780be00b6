"""Whether the process of a worker is still there."""

from __future__ import annotations

import os
import socket


def is_gone(host: str, pid: int) -> bool:
    """Whether a process ran on this host, which has none of its number any more: it has ended, or was killed.

    One in a container may be taken for gone where the container has the host's name.
    """
    if host != socket.gethostname() or pid <= 0 or os.name != "posix":
        return False
    try:
        os.kill(pid, 0)  # signal 0 only asks
    except (ProcessLookupError, OverflowError):
        return True
    except OSError:  # it is somebody else's
        return False
    return False
