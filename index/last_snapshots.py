"""The latest snapshot of every tensor, and how many there are: what a list of tensors shows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .run import RunIndex
from .snapshot import Snapshot, take


class LastSnapshot(NamedTuple):
    """How many snapshots of a tensor name were captured, in all graphs, and the first of its last step."""

    last: Snapshot
    snapshots: int


def last_snapshots(run: RunIndex) -> list[LastSnapshot]:
    """Of all captured tensors, by name."""
    catalog = run.catalog
    count = catalog.rows
    codes, steps = catalog.column("tensor", slice(0, count)), catalog.column("step", slice(0, count))
    names = catalog.tensors.names[: int(codes.max(initial=-1)) + 1]
    places = {name: place for place, name in enumerate(sorted(set(names)))}
    of_code = np.array([places[name] for name in names], np.int64)
    of_row = of_code[codes]
    last = np.full(len(places), -1, np.int64)
    np.maximum.at(last, of_row, steps)
    rows = np.flatnonzero(steps == last[of_row])
    _, first = np.unique(of_row[rows], return_index=True)
    counts = np.bincount(of_row, minlength=len(places)).tolist()
    return list(map(LastSnapshot, take(catalog, rows[first]), counts))
