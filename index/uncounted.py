"""Elements that nobody counted: foreign formats tell some counts only (docs/import.md)."""

from __future__ import annotations

import numpy as np

from .catalog import KINDS
from .run import RunIndex
from .snapshot import Snapshot
from .unknown import unknown_counts

_AT_ONCE = 1 << 20  # rows


def not_counted(snapshot: Snapshot) -> int:
    """Elements of a snapshot of which it is not known whether they are NaN, infinite, zero, …"""
    if snapshot.dtype == "string":
        return 0
    return max(snapshot.size - sum(int(getattr(snapshot, kind)) for kind in KINDS), 0)


def snapshots_not_counted(run: RunIndex) -> int:
    """How many snapshots of a run may hold a NaN or an infinity that nobody counted."""
    if "nan" not in run.catalog.not_told:
        return 0
    return sum(_may_be_bad(run, slice(at, at + _AT_ONCE)) for at in range(0, run.catalog.rows, _AT_ONCE))


def _may_be_bad(run: RunIndex, rows: slice) -> int:
    rows = slice(rows.start, min(rows.stop, run.catalog.rows))
    unknown = unknown_counts(run.catalog, rows).get("nan")
    if unknown is None:
        return 0
    bad = np.logical_or.reduce([run.catalog.column(kind, rows) > 0 for kind in KINDS[:3]])
    return int(np.count_nonzero(unknown & ~bad))
