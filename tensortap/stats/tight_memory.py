"""Whether numba can work in what a limit of the address space (`ulimit -v`) leaves.

LLVM dies in native code, or never ends, where it gets no more memory: it is tried in a child first.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

try:
    import resource
except ImportError:  # Windows has no such limit
    resource = None  # type: ignore[assignment]

_SPARE = 256 << 20  # bytes that the program itself may take meanwhile
_SECONDS = 30  # it takes less than one, or never ends
_TRY = """
import resource, signal, sys
signal.alarm(30)  # also when the program, which waits no longer, was killed
from numpy import add
def taken():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[0]) * resource.getpagesize()
hard = resource.getrlimit(resource.RLIMIT_AS)[1]
room = taken() + int(sys.argv[1])
resource.setrlimit(resource.RLIMIT_AS, (room if hard < 0 else min(room, hard), hard))
import numba
numba.njit("float64(float64[::1])")(lambda x: x.sum())
"""


def numba_would_fail() -> bool:
    """Whether numba, not imported yet, cannot be imported or compile here; False at once without a limit."""
    left = _address_space_left()
    if left is None or "numba" in sys.modules:
        return False
    try:
        done = subprocess.run(
            [sys.executable, "-P", "-c", _TRY, str(max(left - _SPARE, 0))],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=_SECONDS,
            check=False,
        )
    except (OSError, ValueError, subprocess.SubprocessError):
        return True
    return done.returncode != 0


def _address_space_left() -> int | None:
    """Bytes that this process may still map; None without a limit, or where that cannot be told."""
    if resource is None:
        return None
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit == resource.RLIM_INFINITY:
        return None
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
    except OSError:
        return None
    return limit - pages * os.sysconf("SC_PAGE_SIZE")
