"""The latest snapshot of every tensor, and how many there are: what a list of tensors shows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .run import RunIndex
from .snapshot import Snapshot, take


class LastSnapshot(NamedTuple):
    """How many snapshots of a tensor were captured, and the first of its last step."""

    last: Snapshot
    snapshots: int


def last_snapshots(run: RunIndex) -> list[LastSnapshot]:
    """Of all captured tensors, by name and graph: tensors of one name in several graphs are several."""
    catalog = run.catalog
    count = catalog.rows
    codes, steps = catalog.column("tensor", slice(0, count)), catalog.column("step", slice(0, count))
    names = catalog.tensors.names[: int(codes.max(initial=-1)) + 1]
    graphs = catalog.tensors.graphs_of(np.arange(len(names), dtype=np.int32))
    order = sorted(range(len(names)), key=lambda code: (names[code], graphs[code]))
    last = np.full(len(names), -1, np.int64)
    np.maximum.at(last, codes, steps)
    rows = np.flatnonzero(steps == last[codes])
    found, first = np.unique(codes[rows], return_index=True)
    row_of = dict(zip(found.tolist(), rows[first].tolist(), strict=True))
    counts = np.bincount(codes, minlength=len(names)).tolist()
    captured = [code for code in order if code in row_of]
    taken = take(catalog, np.array([row_of[code] for code in captured], np.int64))
    return [LastSnapshot(snapshot, counts[code]) for snapshot, code in zip(taken, captured, strict=True)]
