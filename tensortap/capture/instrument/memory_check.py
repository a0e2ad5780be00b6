"""Whether the host has room for the tensors of a step: training must not be killed for want of memory."""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path

from tensortap.core.dtypes import itemsize

from ..tracing.candidate import Candidate

# The rest is for what the estimate does not see: unknown shapes, iterations of loops, the writer.
SHARE = 0.5

_MEMINFO = Path("/proc/meminfo")
_CGROUP = Path("/sys/fs/cgroup")


def estimated_bytes(candidates: Iterable[Candidate]) -> int:
    """Size of one visit of all of them, as far as their shapes are known."""
    return sum(
        math.prod(size for size in candidate.shape if size is not None) * itemsize(candidate.dtype)
        for candidate in candidates
        if candidate.shape is not None and None not in candidate.shape
    )


def available_bytes() -> int | None:
    """Host memory that this process could still take; None if the system does not say."""
    limits = [limit for limit in (_of_machine(), _of_cgroup()) if limit is not None]
    return min(limits, default=None)


def _of_machine() -> int | None:
    try:
        lines = _MEMINFO.read_text().splitlines()
    except OSError:  # not Linux
        return None
    kibibytes = [int(line.split()[1]) for line in lines if line.startswith("MemAvailable:")]
    return kibibytes[0] << 10 if kibibytes else None


def _of_cgroup() -> int | None:
    """A container's limit, less what it uses."""
    try:
        limit = (_CGROUP / "memory.max").read_text().strip()
        used = int((_CGROUP / "memory.current").read_text())
    except (OSError, ValueError):
        return None
    return None if limit == "max" else max(int(limit) - used, 0)
