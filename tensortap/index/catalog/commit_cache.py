"""A cache of decoded commits, for histograms and values: these are not in the index but read from the
dump."""

from __future__ import annotations

import threading
from collections import OrderedDict
from pathlib import Path

import numpy as np
import pyarrow as pa

from tensortap.core.deadline import check_time_limit
from tensortap.core.dtypes import Array
from tensortap.dump.format.schema import HISTOGRAM_COLUMNS
from tensortap.dump.read.stats_reader import read_commit

from .catalog import Catalog, CommitPlace

CACHE_BYTES = 64 * 1024 * 1024  # histograms of some 250,000 snapshots


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
            DamagedError: it fails its checksum now. FileNotFoundError: its file was removed.
        """
        key = (run_dir, place, columns)
        with self._lock:
            if key in self._batches:
                self._batches.move_to_end(key)
                return self._batches[key]
        check_time_limit()
        batch = read_commit(run_dir, *place, columns)
        with self._lock:
            if key not in self._batches:
                self._batches[key] = batch
                self._bytes += batch.nbytes
            while self._bytes > self._limit and len(self._batches) > 1:
                _, dropped = self._batches.popitem(last=False)
                self._bytes -= dropped.nbytes
        return batch

    def clear(self) -> None:
        """Drops all commits."""
        with self._lock:
            self._batches.clear()
            self._bytes = 0

    def forget(self, run_dir: Path) -> None:
        """Drops the commits of a run, because their positions may have changed."""
        with self._lock:
            for key in [key for key in self._batches if key[0] == run_dir]:
                self._bytes -= self._batches.pop(key).nbytes


def read_histograms(catalog: Catalog, cache: CommitCache, rows: Array) -> list[tuple[Array, Array]]:
    """(bucket ids, counts) of each row, from memory or from its commit; each commit is read once.
    Those of a compacted run are read from its files.

    Raises:
        DamagedError: a commit cannot be read any more.
    """
    if catalog.compacted_histograms is not None:
        return catalog.compacted_histograms(catalog, rows)
    held = catalog.parts.histograms(rows)
    missing = np.array([i for i, histogram in enumerate(held) if histogram is None], np.int64)
    found = {i: histogram for i, histogram in enumerate(held) if histogram is not None}
    commits, within = catalog.commits_of(rows[missing])
    order = np.argsort(commits, kind="stable")
    edges = np.flatnonzero(np.diff(commits[order])) + 1
    for positions in np.split(order, edges) if len(missing) else ():
        batch = cache.get(catalog.run_dir, catalog.place(int(commits[positions[0]])), HISTOGRAM_COLUMNS)
        ids, counts = (batch.column(name) for name in HISTOGRAM_COLUMNS)
        for place, row in zip(missing[positions].tolist(), within[positions].tolist(), strict=True):
            found[place] = ids[row].values.to_numpy(), counts[row].values.to_numpy()
    return [found[i] for i in range(len(rows))]
