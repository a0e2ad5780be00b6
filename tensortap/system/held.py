"""Whether a process writes a file: it holds a lock on it, which goes when the process does."""

from __future__ import annotations

import contextlib
import sys
from typing import IO


def hold(fd: int) -> None:
    """Locks a file that this process writes, where the system and its disk can; nobody waits for it."""
    if sys.platform != "win32":  # there, an open file cannot be removed
        import fcntl

        with contextlib.suppress(OSError):
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)


def is_held(file: IO[bytes] | int) -> bool | None:
    """Whether a process holds the file; None where the system or its disk has no locks.

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
