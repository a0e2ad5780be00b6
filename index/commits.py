"""Commits read again: histograms and small values are not held in memory, the last used commits are."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from tensortap.dump import read_commit

from .catalog import Catalog, CommitPlace

CACHE_BYTES = 64 * 1024 * 1024  # histograms of some 250,000 snapshots
HISTOGRAM_COLUMNS = ("bucket_id", "bucket_count")

Array = np.ndarray[Any, np.dtype[Any]]


_Key = tuple[Path, CommitPlace, tuple[str, ...] | None]


class CommitCache:
    """The most recently used commits, up to `limit` bytes. Thread-safe."""

    def __init__(self, limit: int = CACHE_BYTES) -> None:
        self._limit = limit
        self._bytes = 0
        self._batches: OrderedDict[_Key, pa.RecordBatch] = OrderedDict()
        self._lock = threading.Lock()

    def get(
        self, run_dir: Path, place: CommitPlace, columns: tuple[str, ...] | None = None
    ) -> pa.RecordBatch:
        """A commit with all its columns, or some.

        Raises:
            DamagedError: it fails its checksum now. FileNotFoundError: its file is gone.
        """
        key = (run_dir, place, columns)
        with self._lock:
            if key in self._batches:
                self._batches.move_to_end(key)
                return self._batches[key]
        batch = read_commit(run_dir, *place, columns)
        with self._lock:
            if key not in self._batches:
                self._batches[key] = batch
                self._bytes += batch.nbytes
            while self._bytes > self._limit and len(self._batches) > 1:
                _, dropped = self._batches.popitem(last=False)
                self._bytes -= dropped.nbytes
        return batch


def histogram_rows(
    catalog: Catalog, cache: CommitCache, rows: Array
) -> Iterator[tuple[pa.RecordBatch, Array, Array]]:
    """Reads the histograms of the commits that hold some rows, each commit once.

    Yields:
        A commit, the numbers of the wanted rows in it, and the positions of those rows in `rows`.
    """
    commits, within = catalog.commits_of(rows)
    order = np.argsort(commits, kind="stable")
    edges = np.flatnonzero(np.diff(commits[order])) + 1
    for positions in np.split(order, edges) if len(rows) else ():
        place = catalog.place(int(commits[positions[0]]))
        yield cache.get(catalog.run_dir, place, HISTOGRAM_COLUMNS), within[positions], positions
