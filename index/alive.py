"""Whether the process of a worker is still there."""

from __future__ import annotations

import os
import socket

from tensortap.dump import WorkerInfo


def is_gone(info: WorkerInfo) -> bool:
    """Whether the worker ran on this host, which has no process of its number any more: it was killed.

    A worker in a container may be taken for gone where the container has the host's name.
    """
    if info.host != socket.gethostname() or info.pid <= 0 or os.name != "posix":
        return False
    try:
        os.kill(info.pid, 0)  # signal 0 only asks
    except (ProcessLookupError, OverflowError):
        return True
    except OSError:  # it is somebody else's
        return False
    return False
