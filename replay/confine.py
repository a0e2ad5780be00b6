"""Takes from this process what a replay does not need: the network, much memory, core files."""

from __future__ import annotations

import contextlib
import ctypes
import sys

_CLONE_NEWUSER = 0x10000000
_CLONE_NEWNET = 0x40000000


def confine(memory_bytes: int) -> None:
    """Limits the memory of this process, and leaves the network where the system lets it.

    Recordings hold only ops that compute (`capture.allowed`); this is the second wall, not the first.
    """
    if sys.platform == "linux":
        _leave_network()
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_DATA, (memory_bytes, memory_bytes))


def _leave_network() -> None:
    with contextlib.suppress(OSError, AttributeError):
        libc = ctypes.CDLL(None, use_errno=True)
        # Not allowed in some containers: then the network stays, and nothing in a recording uses it.
        libc.unshare(_CLONE_NEWUSER | _CLONE_NEWNET)
