"""Removes from this process what a worker does not need: network, memory, core files."""

from __future__ import annotations

import contextlib
import ctypes
import sys
from pathlib import Path

_CLONE_NEWUSER = 0x10000000
_CLONE_NEWNET = 0x40000000


def limit_memory(memory_bytes: int) -> None:
    """Limits this process to some more bytes than it has now, and turns off core files.

    On systems that do not report the memory in use (other than Linux), it counts as well.
    """
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        most = _held() + memory_bytes
        resource.setrlimit(resource.RLIMIT_DATA, (most, most))


def _held() -> int:
    """Bytes that count for RLIMIT_DATA: with TensorFlow, mostly the stacks of its threads."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmData:"):
                return int(line.split()[1]) << 10
    return 0


def leave_network() -> None:
    """Leaves the network if the system allows it, which it does not once the process has threads.

    Recordings hold only ops that compute (`tf/op_allowlist.py`); this is the second line of defence.
    """
    if sys.platform != "linux":
        return
    with contextlib.suppress(OSError, AttributeError):
        libc = ctypes.CDLL(None, use_errno=True)
        # Not allowed in some containers: then the network stays, and nothing in a recording uses it.
        libc.unshare(_CLONE_NEWUSER | _CLONE_NEWNET)
