"""A cache of decoded commits, for histograms and values: these are not in the index but read from the
dump."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa

from tensortap.core.deadline import check_time_limit
from tensortap.core.dtypes import Array
from tensortap.dump.format.schema import HISTOGRAM_COLUMNS
from tensortap.dump.read.stats_reader import read_commit

from .byte_cache import ByteCache
from .catalog import Catalog, CommitPlace

CACHE_BYTES = 64 * 1024 * 1024  # histograms of some 250,000 snapshots


class CommitCache:
    """The most recently used commits, up to `limit` bytes. Thread-safe."""

    def __init__(self, limit: int = CACHE_BYTES) -> None:
        self._batches = ByteCache[pa.RecordBatch](limit, lambda batch: batch.nbytes)

    def get(
        self, run_dir: Path, place: CommitPlace, columns: tuple[str, ...] | None = None
    ) -> pa.RecordBatch:
        """A commit with all its columns, or some.

        Raises:
            DamagedError: it fails its checksum now. FileNotFoundError: its file was removed.
        """

        def read() -> pa.RecordBatch:
            check_time_limit()
            return read_commit(run_dir, *place, columns)

        return self._batches.get((run_dir, place, columns), read)

    def clear(self) -> None:
        """Drops all commits."""
        self._batches.clear()

    def forget(self, run_dir: Path) -> None:
        """Drops the commits of a run, because their positions may have changed."""
        self._batches.forget(lambda key: key[0] == run_dir)


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
