"""Stored values of snapshots, as far as they can be read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from tensortap.core.dtypes import Array
from tensortap.core.errors import TensortapError
from tensortap.index.run_index import RunIndex
from tensortap.index.snapshot import Snapshot, snapshots_at
from tensortap.index.values import read_slice

MAX_BYTES = 16 << 20  # of one value


def stored_values(
    run: RunIndex, rows: Array | Sequence[int], limit: int = MAX_BYTES
) -> Iterator[tuple[Snapshot, Array]]:
    """The whole values of some snapshots (rows of the catalog), in order; those that are damaged, larger than
    `limit` bytes or deleted meanwhile are left out."""
    for snapshot in snapshots_at(run.catalog, np.asarray(rows, np.int64)):
        try:
            yield snapshot, np.asarray(read_slice(run, snapshot, limit=limit))
        except (TensortapError, OSError):
            continue
