"""Elements that nobody counted: foreign formats tell some counts only (docs/import.md)."""

from __future__ import annotations

import numpy as np

from .run import RunIndex
from .snapshot import Snapshot

_KINDS = ("nan", "pos_inf", "neg_inf", "zero", "negative", "positive")


def not_counted(snapshot: Snapshot) -> int:
    """Elements of a snapshot of which it is not known whether they are NaN, infinite, zero, …"""
    if snapshot.dtype == "string":
        return 0
    return max(snapshot.size - sum(int(getattr(snapshot, kind)) for kind in _KINDS), 0)


def nan_not_counted(run: RunIndex) -> bool:
    """Whether a run's source tells of no NaN and no infinity: where none was counted, there may be some."""
    return "not counted" in run.info


def snapshots_not_counted(run: RunIndex) -> int:
    """How many snapshots of a run may hold a NaN or an infinity that nobody counted."""
    catalog = run.catalog
    if not nan_not_counted(run) or not catalog.rows:
        return 0
    everything = slice(0, catalog.rows)
    counted = [catalog.column(kind, everything).astype(np.int64) for kind in _KINDS]
    text = catalog.column("dtype", everything) == catalog.dtypes.code("string")
    numbers_left = catalog.column("size", everything) > np.sum(counted, axis=0)
    bad = np.logical_or.reduce([count > 0 for count in counted[:3]])
    return int(np.count_nonzero(numbers_left & ~bad & ~text))
