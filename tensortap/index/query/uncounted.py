"""Elements that nobody counted: foreign formats tell some counts only (docs/import.md)."""

from __future__ import annotations

from ..catalog.catalog import KINDS
from ..run_index import RunIndex
from ..snapshot import Snapshot
from ..unknown_counts import not_counted_by_tensor


def not_counted(snapshot: Snapshot) -> int:
    """Elements of a snapshot of which it is not known whether they are NaN, infinite, zero, …"""
    if snapshot.dtype == "string":
        return 0
    return max(snapshot.size - sum(int(getattr(snapshot, kind)) for kind in KINDS), 0)


def snapshots_not_counted(run: RunIndex) -> int:
    """How many snapshots of a run may hold a NaN or an infinity that nobody counted."""
    return int(not_counted_by_tensor(run.catalog).sum())
