"""The latest snapshot of every tensor, and how many there are: what a list of tensors shows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tensortap.core.dtypes import Array

from ..run_index import RunIndex
from ..snapshot import Snapshot, snapshots_at


class LatestSnapshot(NamedTuple):
    """How many snapshots of a tensor were captured, and the first of its last step."""

    last: Snapshot
    snapshots: int


def latest_snapshots(run: RunIndex, among: Array | None = None) -> list[LatestSnapshot]:
    """Of all captured tensors, by name and graph: tensors of one name in several graphs are several.

    Args:
        among: rows of the catalog, ascending; others do not count. All by default.
    """
    catalog = run.catalog
    looked = slice(0, catalog.rows) if among is None else among
    codes, steps = catalog.column("tensor", looked), catalog.column("step", looked)
    names = catalog.tensors.names[: int(codes.max(initial=-1)) + 1]
    graphs = catalog.tensors.graphs_of(np.arange(len(names), dtype=np.int32))
    order = sorted(range(len(names)), key=lambda code: (names[code], graphs[code]))
    last = np.full(len(names), -1, np.int64)
    np.maximum.at(last, codes, steps)
    places = np.flatnonzero(steps == last[codes])
    found, first = np.unique(codes[places], return_index=True)
    rows = places[first] if among is None else among[places[first]]
    row_of = dict(zip(found.tolist(), rows.tolist(), strict=True))
    counts = np.bincount(codes, minlength=len(names)).tolist()
    captured = [code for code in order if code in row_of]
    taken = snapshots_at(catalog, np.array([row_of[code] for code in captured], np.int64))
    return [LatestSnapshot(snapshot, counts[code]) for snapshot, code in zip(taken, captured, strict=True)]
