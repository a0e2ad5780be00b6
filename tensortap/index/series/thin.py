"""Fewer rows than there are, evenly spread."""

from __future__ import annotations

from typing import Any

import numpy as np


def thin(count: int, limit: int | None) -> np.ndarray[Any, np.dtype[np.int64]]:
    """At most `limit` of the positions 0 … count - 1, evenly spread, first and last among them (of one: the
    last)."""
    if limit is None or count <= limit:
        return np.arange(count)
    if limit <= 1:
        return np.arange(count)[count - max(limit, 0) :]
    return np.round(np.linspace(0, count - 1, limit)).astype(np.int64)
