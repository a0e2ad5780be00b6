"""Consecutive rows of the catalog: a tail that grows, and segments that do not change any more.

A segment's arrays may be in a memory-mapped file, so that unused parts of a long run take no memory.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from tensortap.core.dtypes import Array
from tensortap.core.records import COUNTS, STATISTICS

from .columns import GrowingColumn, NarrowColumn
from .packed_histograms import Packed, Take, has_packed, pack_histograms
from .ragged import Ragged, concatenated, starts_of

NARROW = ("visit", "device", "dtype", "shape", "size", *COUNTS, "shard")
COLUMNS = (*NARROW, *STATISTICS, "tensor", "step", "time")
Key = Literal["tensor", "step"]
RowNumbers = np.ndarray[Any, np.dtype[np.integer[Any]]]
# Rows after the sorted part are scanned: 64k comparisons take less time than one query's Python.
_MIN_TAIL = 65_536


class Tail:
    """The last rows of a catalog. One thread adds, others read up to a number of rows they know."""

    def __init__(self, first: int, histograms: bool) -> None:
        self.first = first
        self.columns: dict[str, GrowingColumn] = {name: NarrowColumn() for name in NARROW}
        self.columns |= {name: GrowingColumn(np.float64) for name in STATISTICS}
        self.columns |= {name: GrowingColumn(np.int32) for name in ("tensor", "step")}
        self.columns["time"] = GrowingColumn(np.int64)
        self._postings = {key: Postings(self.columns[key]) for key in ("tensor", "step")}
        self._histograms: list[Ragged] | None = [] if histograms else None
        self._histogram_starts: list[int] = []

    def __len__(self) -> int:
        return len(self.columns["shard"])

    @property
    def nbytes(self) -> int:
        """Bytes allocated."""
        columns = sum(column.nbytes for column in self.columns.values())
        return columns + sum(p.nbytes for p in self._postings.values()) + self.histogram_bytes

    @property
    def histogram_bytes(self) -> int:
        """Bytes of the histograms."""
        return sum(part.nbytes for part in self._histograms or ())

    def add(self, columns: Mapping[str, Array], histograms: Ragged | None) -> None:
        """Appends rows; without their histograms, those of the tail are held no longer."""
        if histograms is None:
            self._histograms = None
        elif self._histograms is not None:
            self._histogram_starts.append(len(self))
            self._histograms.append(histograms)
        for name in COLUMNS:
            self.columns[name].extend(columns[name])

    def drop_histograms(self) -> None:
        """Forgets the histograms."""
        self._histograms = None

    @property
    def has_histograms(self) -> bool:
        """Whether the histograms of all rows are held."""
        return self._histograms is not None

    def column(self, name: str) -> Array:
        """One column of all rows."""
        return self.columns[name].view()

    def rows_of(self, key: Key, code: int, length: int) -> Array:
        """Rows (catalog numbers) below `length` with the code `code`, ascending."""
        local = self._postings[key].rows(code, max(length - self.first, 0))
        return local if not self.first else local + self.first

    def histograms(self, rows: Array) -> list[tuple[Array, Array]] | None:
        """(bucket ids, counts) of some rows of the tail; None if they are not in memory."""
        held = self._histograms
        if held is None:
            return None
        parts = np.searchsorted(self._histogram_starts, rows, "right") - 1
        local = rows - np.asarray(self._histogram_starts, np.int64)[parts]
        found = zip(parts.tolist(), local.tolist(), strict=True)
        return [held[part].row(row) for part, row in found]

    def taker(self) -> Take:
        """Takes histograms of rows, counted in the tail. They must be held."""
        return concatenated(self._histograms or []).take


class Segment:
    """Rows that do not change any more. See `freeze` for the arrays."""

    def __init__(self, first: int, arrays: Mapping[str, Array]) -> None:
        self.first = first
        self.arrays = arrays
        self._packed = Packed(arrays) if has_packed(arrays) else None

    def __len__(self) -> int:
        return len(self.arrays["shard"])

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays, mapped ones too."""
        return sum(array.nbytes for array in self.arrays.values())

    @property
    def has_histograms(self) -> bool:
        """Whether it holds histograms."""
        return self._packed is not None

    def column(self, name: str) -> Array:
        """One column of all rows."""
        return self.arrays[name]

    def rows_of(self, key: Key, code: int, length: int) -> Array:
        """Rows (catalog numbers) below `length` with the code `code`, ascending."""
        starts = self.arrays[f"by_{key}_start"]
        if code + 1 >= len(starts):
            return np.zeros(0, np.int32)
        rows = self.arrays[f"by_{key}"][starts[code] : starts[code + 1]] + np.int32(self.first)
        return rows if self.first + len(self) <= length else rows[: np.searchsorted(rows, length)]

    def histograms(self, rows: Array) -> list[tuple[Array, Array]] | None:
        """(bucket ids, counts) of some rows, counted in the segment; None if it holds none.

        Raises:
            PackedError: they are damaged.
        """
        if self._packed is None:
            return None
        starts, order = self.arrays["by_tensor_start"], self.arrays["by_tensor"]
        found: list[tuple[Array, Array]] = [(order[:0], order[:0])] * len(rows)
        tensors = self.arrays["tensor"][rows]
        for code in np.unique(tensors).tolist():
            wanted = np.flatnonzero(tensors == code)
            first, stop = starts[code : code + 2].tolist()
            at = first + np.searchsorted(order[first:stop], rows[wanted])
            lowest = int(at.min())
            read = self._packed.rows(lowest, int(at.max()) + 1)
            for place, row in zip(wanted.tolist(), (at - lowest).tolist(), strict=True):
                found[place] = read.row(row)
        return found

    def taker(self) -> Take:
        """Unpacks histograms of rows of the segment that are close to each other by tensor, with those
        between them. They must be held.

        The returned function raises PackedError.
        """
        assert self._packed is not None
        packed = self._packed
        places = np.empty(len(self), np.int32)
        places[self.arrays["by_tensor"]] = np.arange(len(self), dtype=np.int32)

        def take(rows: Array) -> Ragged:
            at = places[rows]
            lowest, stop = int(at.min(initial=len(self))), int(at.max(initial=-1)) + 1
            return packed.rows(lowest, stop).take(at - lowest)

        return take


class Postings:
    """Rows by code, ascending. The sorted part is rebuilt once the unsorted tail exceeds a quarter of it."""

    def __init__(self, column: GrowingColumn) -> None:
        self._column = column
        self._lock = threading.Lock()
        # int32: a run of 2^31 snapshots would not fit in memory anyway
        self._order: RowNumbers = np.zeros(0, np.int32)
        self._starts: RowNumbers = np.zeros(1, np.int64)
        self._sorted_rows = 0

    @property
    def nbytes(self) -> int:
        """Bytes allocated."""
        return self._order.nbytes + self._starts.nbytes

    def rows(self, code: int, length: int) -> RowNumbers:
        """Ascending row numbers below `length` with the code `code`."""
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


def freeze(parts: list[Segment | Tail]) -> dict[str, Array]:
    """The arrays of one segment with the rows of several parts.

    These are the columns; `by_tensor` and `by_step`, rows of the segment (int32) ordered by code, and
    `by_…_start`, where each code begins (int64 [codes + 1]); and those of `pack_histograms`, if all parts
    hold histograms.

    Raises:
        PackedError: the histograms of a segment are damaged.
    """
    arrays = {name: np.concatenate([part.column(name) for part in parts]) for name in COLUMNS}
    arrays |= postings(arrays)
    if not all(part.has_histograms for part in parts):
        return arrays
    return arrays | pack_histograms(_taker(parts), arrays["by_tensor"], arrays["by_tensor_start"])


def postings(columns: Mapping[str, Array]) -> dict[str, Array]:
    """`by_tensor`, `by_step` and where their codes begin, see `freeze`."""
    arrays: dict[str, Array] = {}
    for key in ("tensor", "step"):
        codes = columns[key]
        arrays[f"by_{key}"] = np.argsort(codes, kind="stable").astype(np.int32)
        arrays[f"by_{key}_start"] = starts_of(np.bincount(codes) if len(codes) else codes)
    return arrays


def _taker(parts: Sequence[Segment | Tail]) -> Take:
    """Unpacks histograms of rows from all parts, never a whole segment at once: that took a hundred megabytes
    per save of a growing run."""
    takers, starts = [part.taker() for part in parts], starts_of(np.array([len(part) for part in parts]))

    def take(rows: Array) -> Ragged:
        numbers = np.searchsorted(starts, rows, "right") - 1
        places = [np.flatnonzero(numbers == number) for number in range(len(takers))]
        found = concatenated(
            [
                taker(rows[at] - start)
                for taker, at, start in zip(takers, places, starts[:-1].tolist(), strict=True)
            ]
        )
        return found.take(np.argsort(np.concatenate(places)))

    return take


def segment_arrays() -> tuple[str, ...]:
    """The names of the arrays that each segment has."""
    postings = ("by_tensor", "by_tensor_start", "by_step", "by_step_start")
    return (*COLUMNS, *postings)
