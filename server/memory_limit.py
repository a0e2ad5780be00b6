"""Keeps the memory of a server's process under a limit, whatever the size and number of its runs.

Most of a run is mapped from its saved index, and what has been read of it counts as memory of the process
until it is released. Then caches are emptied, which are filled again. A thread checks the memory regularly.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

from tensortap.index.cache.container import release_pages
from tensortap.index.catalog.row_store import on_touched

DEFAULT_BYTES = 1_000_000_000
# Parts of the limit: from the first on, pages of saved indices are released, from the second on, caches too.
# The rest is for the answers being computed.
RELEASE_FROM, DROP_FROM = 0.4, 0.7
_INTERVAL = 0.05  # s between checks; pages come at some 2 GB/s
_STATM = Path("/proc/self/statm")


def resident_bytes() -> int:
    """Resident memory of this process; 0 where the system does not report it like Linux."""
    try:
        return int(_STATM.read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 0


class MemoryLimit:
    """Releases memory of this process as it nears `limit` bytes.

    Args:
        drop: functions that empty caches. trim: returns freed memory to the system.
    """

    def __init__(
        self,
        limit: int,
        drop: Sequence[Callable[[], object]] = (),
        trim: Callable[[], object] = lambda: None,
        resident: Callable[[], int] = resident_bytes,
    ) -> None:
        self._limit, self._drop, self._trim, self._resident = limit, drop, trim, resident
        self._ended = threading.Event()

    def start(self) -> None:
        """Starts the checks, until `close`; does nothing where the system does not report memory."""
        if self._resident():
            on_touched(self.release)
            threading.Thread(target=self._run, name="tensortap-memory", daemon=True).start()

    def close(self) -> None:
        """Ends the thread."""
        self._ended.set()

    def check(self) -> None:
        """Releases memory if the limit is near."""
        self.release()
        if self._resident() / self._limit > DROP_FROM:
            for drop in self._drop:
                drop()
            self._trim()

    def release(self) -> None:
        """Releases pages of saved indices if the limit is near."""
        if self._resident() > RELEASE_FROM * self._limit:
            release_pages()

    def _run(self) -> None:
        while not self._ended.wait(_INTERVAL):
            self.check()
