"""Keeps the memory of a server's process under a limit, whatever the size and number of its runs.

Most of a run is mapped from its saved index, and what has been read of it counts as memory of the process
until it is released. Then caches are emptied, which are filled again. A thread checks the memory regularly.
Freed memory goes back to the system.
"""

from __future__ import annotations

import ctypes
import gc
import os
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pyarrow as pa

from tensortap.index.cache.container import release_pages
from tensortap.index.catalog.catalog import Catalog
from tensortap.index.catalog.row_store import on_read

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
            on_read(self.release)
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


# Of glibc's malloc.h. Sixteen threads that answer in turns need no arena each, which keeps its peak. Buffers
# of a megabyte are unmapped when freed; by default glibc raises that threshold after the first.
_M_MMAP_THRESHOLD, _M_ARENA_MAX = -3, -8
_LARGE, _ARENAS = 1 << 20, 2
# What a request takes for each row that it compares or sorts, with as many at once as there are threads.
_BYTES_OF_ROW, _FEWEST_ROWS = 400, 1 << 18
_TRIM_INTERVAL = 5.0  # s; it takes some milliseconds, of a server's few hundred megabytes


def tune_memory() -> None:
    """Makes Arrow share the C allocator, and that keep little freed memory. For processes of our own.

    Saves 50 MB at a run that grew to 600,000 snapshots. Python no longer looks for garbage among what was
    imported, which took 40 ms of the first page.
    """
    gc.freeze()
    pa.set_memory_pool(pa.system_memory_pool())
    tune = _glibc_function("mallopt")
    if tune is not None:
        tune(_M_ARENA_MAX, _ARENAS)
        tune(_M_MMAP_THRESHOLD, _LARGE)


def limit_rows(memory: int) -> None:
    """Makes requests compare fewer rows at once where this process may take little memory, in bytes."""
    Catalog.rows_at_once = min(Catalog.rows_at_once, max(memory // _BYTES_OF_ROW, _FEWEST_ROWS))


class MemoryTrimmer:
    """Trims the C heap now and then. For processes of our own: other threads' malloc waits meanwhile.

    Sixteen threads make answers of a megabyte, and glibc keeps the peak of each: 450 MiB after half a minute
    at a run of 600,000 snapshots, of which 50 were in use.
    """

    def __init__(self) -> None:
        self._trim = _glibc_function("malloc_trim")
        self._last = float("-inf")

    def trim(self) -> None:
        """Trims memory if the last time is long ago; no effect without glibc."""
        if self._trim is not None and time.monotonic() - self._last >= _TRIM_INTERVAL:
            self._trim(0)
            self._last = time.monotonic()


def _glibc_function(name: str) -> Callable[..., int] | None:
    if not sys.platform.startswith("linux"):
        return None
    found: Callable[..., int] | None = getattr(ctypes.CDLL(None), name, None)  # musl has none
    return found
