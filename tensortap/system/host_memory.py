"""Host memory that this process may still take, as the machine and its container limit it."""

from __future__ import annotations

import os
from pathlib import Path

_MEMINFO = Path("/proc/meminfo")
_CGROUP = Path("/sys/fs/cgroup")


def available_bytes() -> int | None:
    """Host memory still available to this process; all of the machine's if the system reports only that, and
    None on Windows."""
    limits = [limit for limit in (_of_machine(), _of_cgroup()) if limit is not None]
    return min(limits, default=None)


def _of_machine() -> int | None:
    try:
        lines = _MEMINFO.read_text().splitlines()
    except OSError:  # not Linux
        return _total()
    kibibytes = [int(line.split()[1]) for line in lines if line.startswith("MemAvailable:")]
    return kibibytes[0] << 10 if kibibytes else None


def _total() -> int | None:
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):  # Windows
        return None


def _of_cgroup() -> int | None:
    """A container's memory limit minus its usage."""
    try:
        limit = (_CGROUP / "memory.max").read_text().strip()
        used = int((_CGROUP / "memory.current").read_text())
    except (OSError, ValueError):
        return None
    return None if limit == "max" else max(int(limit) - used, 0)
