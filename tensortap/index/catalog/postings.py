"""Which rows hold a code: a sorted side table over a growing column, extended as the column grows."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from .columns import GrowingColumn

Rows = np.ndarray[Any, np.dtype[np.integer[Any]]]

# Rows behind the sorted part are scanned: 64k comparisons take less time than one query's Python.
_MIN_TAIL = 65_536


class Postings:
    """Rows by code, ascending. The sorted part is rebuilt once the unsorted tail exceeds a quarter of it."""

    def __init__(self, column: GrowingColumn) -> None:
        self._column = column
        self._lock = threading.Lock()
        self._order: Rows = np.zeros(0, np.int32)  # a run of 2^31 snapshots would not fit in memory anyway
        self._starts: Rows = np.zeros(1, np.int64)
        self._sorted_rows = 0

    @property
    def nbytes(self) -> int:
        """Bytes allocated."""
        return self._order.nbytes + self._starts.nbytes

    def rows(self, code: int, length: int) -> Rows:
        """Ascending row numbers below `length` whose code is `code`."""
        with self._lock:
            if length - self._sorted_rows > max(_MIN_TAIL, self._sorted_rows // 4):
                self._sort(length)
            order, starts, done = self._order, self._starts, self._sorted_rows
        known = code + 1 < len(starts)
        head = order[starts[code] : starts[code + 1]] if known else order[:0]
        if done >= length:
            return head if done == length else head[: np.searchsorted(head, length)]
        tail = np.flatnonzero(self._column.view(length)[done:] == code) + done
        return np.concatenate((head, tail)) if len(tail) else head

    def _sort(self, length: int) -> None:
        codes = self._column.view(length)
        counts = np.bincount(codes) if length else np.zeros(0, np.int64)
        self._order = np.argsort(codes, kind="stable").astype(np.int32)
        self._starts = np.concatenate(([0], np.cumsum(counts)))
        self._sorted_rows = length
