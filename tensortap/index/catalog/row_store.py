"""The rows of a catalog: segments, then the tail. Rows keep their numbers when they move to another part."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from tensortap.core.dtypes import Array

from .packed_histograms import PackedError
from .ragged import Ragged
from .segments import Key, Segment, Tail

_MIN_RUN = 100  # rows of one part that follow one another, on average: then they are read run by run
_READ_BYTES = 32 << 20
_NEAR = 2 << 20  # bytes that the system maps around one that is read, at most


class _Read:
    """Bytes of mapped files read since the last check of the memory: a single request may read a gigabyte in
    less time than passes between two checks by another thread."""

    size = 0
    check: Callable[[], object] = staticmethod(lambda: None)


def on_read(check: Callable[[], object]) -> None:
    """Has `check` called before more than some MB of mapped arrays are read."""
    _Read.check = staticmethod(check)


def note_read(size: int) -> None:
    """Notes that `size` bytes of mapped arrays are about to be read."""
    _Read.size += size
    if _Read.size > _READ_BYTES:
        _Read.size = 0
        _Read.check()


class _Parts(NamedTuple):
    """Parts, replaced as a whole, so that readers see a change completely or not at all."""

    segments: tuple[Segment, ...]
    tail: Tail
    starts: np.ndarray[Any, np.dtype[np.int64]]

    @property
    def all(self) -> list[Segment | Tail]:
        return [*self.segments, self.tail]


class RowStore:
    """Columns and postings of all rows. One thread adds and seals; others read without a lock.

    Attributes:
        damaged: a segment's histograms turned out to be damaged.

    Args:
        histograms: hold histograms, too, so that segments can be made.
    """

    def __init__(self, histograms: bool = False) -> None:
        self.damaged = False
        self._holds_histograms = histograms
        self._parts = _assemble((), Tail(0, histograms))
        self._last: _Divided | None = None

    @property
    def tail(self) -> Tail:
        """The rows that are in no segment."""
        return self._parts.tail

    @property
    def segments(self) -> tuple[Segment, ...]:
        """The rows that do not change any more."""
        return self._parts.segments

    @property
    def nbytes(self) -> int:
        """Bytes allocated, and mapped."""
        return sum(part.nbytes for part in self._parts.all)

    def add(self, columns: Mapping[str, Array], histograms: Ragged | None) -> None:
        """Appends rows."""
        self._parts.tail.add(columns, histograms)

    def replace(self, segments: Sequence[Segment]) -> None:
        """Replaces all rows by segments; the tail becomes empty."""
        stop = segments[-1].first + len(segments[-1]) if segments else 0
        self._parts = _assemble(tuple(segments), Tail(stop, self._holds_histograms))

    def last_row_of(self, key: Key, code: int) -> int:
        """The last row with a code; -1 if none has it."""
        for part in reversed(self._parts.all):
            rows = part.rows_of(key, code, part.first + len(part))
            if len(rows):
                return int(rows[-1])
        return -1

    def drop_histograms(self) -> None:
        """Drops the histograms, because no more segments will be built."""
        self._holds_histograms = False
        self._parts.tail.drop_histograms()

    def rows_of(self, key: Key, code: int, length: int) -> Array:
        """Rows below `length` with a code, ascending."""
        found = [part.rows_of(key, code, length) for part in self._parts.all if part.first < max(length, 1)]
        return found[0] if len(found) == 1 else np.concatenate(found)

    def column(self, name: str, rows: Array | slice, length: int) -> Array:
        """One column at some rows below `length`, in their order."""
        parts = self._parts
        if isinstance(rows, slice):
            start, stop, step = rows.indices(length)
            return _column_of(parts, name, stop, start)[::step]
        if not parts.segments:
            return parts.tail.column(name)[rows]
        if not len(rows):
            return parts.tail.column(name)[:0]
        low, high = int(rows[0]), int(rows[-1])
        if high - low + 1 == len(rows) and (len(rows) == 1 or bool((rows[1:] > rows[:-1]).all())):
            return _column_of(parts, name, high + 1, low)
        last = self._last  # one set of rows is requested column by column
        if last is None or last.rows is not rows or last.parts is not parts:
            last = self._last = _divide(parts, rows)
        return last.column(name)

    def histograms(self, rows: Array) -> list[tuple[Array, Array] | None]:
        """(bucket ids, counts) of each row, None where the dump must be read."""
        parts = self._parts
        found: list[tuple[Array, Array] | None] = [None] * len(rows)
        for part, at in _by_part(parts, rows):
            try:
                held = part.histograms(rows[at] - part.first)
            except PackedError:
                held, self.damaged = None, True
            for place, histogram in zip(at.tolist(), held or (), strict=held is not None):
                found[place] = histogram
        return found


def _assemble(segments: tuple[Segment, ...], tail: Tail) -> _Parts:
    return _Parts(segments, tail, np.array([*(segment.first for segment in segments), tail.first], np.int64))


def _column_of(parts: _Parts, name: str, stop: int, start: int = 0) -> Array:
    """A column of consecutive rows; not a copy if they are in one part."""
    pieces = []
    for part in parts.all:
        first, last = max(start - part.first, 0), stop - part.first
        if last > first and len(part) > first:
            pieces.append(_taken(part, name, slice(first, last)))
    if not pieces:
        return parts.tail.column(name)[:0]
    return pieces[0] if len(pieces) == 1 else np.concatenate(pieces)


def _taken(part: Segment | Tail, name: str, rows: Array | slice) -> Array:
    """A column of a part at some of its rows."""
    column = part.column(name)
    if isinstance(part, Segment) and column.strides[0]:  # not a column of one value
        size = column[rows].nbytes + _NEAR if isinstance(rows, slice) else len(rows) * _NEAR
        note_read(min(column.nbytes, size))
    return column[rows]


def _by_part(parts: _Parts, rows: Array) -> Iterator[tuple[Segment | Tail, Array]]:
    """Each part with some of the rows, and their positions in `rows`."""
    number = np.searchsorted(parts.starts, rows, "right") - 1
    for part in np.flatnonzero(np.bincount(number)).tolist():
        yield parts.all[part], np.flatnonzero(number == part)


class _Divided(NamedTuple):
    """Some rows by the part that holds them. `pieces`: (part, rows within it). `back`: where each of the rows
    is in the pieces, one after the other; None: they are in their order."""

    parts: _Parts
    rows: Array
    pieces: list[tuple[Segment | Tail, Array]]
    back: Array | None

    def column(self, name: str) -> Array:
        found: Array = np.concatenate([_taken(part, name, within) for part, within in self.pieces])
        return found if self.back is None else found[self.back]


def _divide(parts: _Parts, rows: Array) -> _Divided:
    if bool((rows[1:] >= rows[:-1]).all()):
        cuts = [*np.searchsorted(rows, parts.starts).tolist(), len(rows)]
        spans = zip(parts.all, cuts[:-1], cuts[1:], strict=True)
        pieces = [(part, rows[start:stop] - part.first) for part, start, stop in spans if stop > start]
        return _Divided(parts, rows, pieces, None)
    number = np.searchsorted(parts.starts, rows, "right") - 1
    cuts = [0, *(np.flatnonzero(number[1:] != number[:-1]) + 1).tolist(), len(rows)]
    if len(cuts) < len(rows) // _MIN_RUN:
        pieces = [
            (parts.all[int(number[start])], rows[start:stop] - parts.starts[number[start]])
            for start, stop in pairwise(cuts)
        ]
        return _Divided(parts, rows, pieces, None)
    divided = list(_by_part(parts, rows))
    order = np.concatenate([at for _, at in divided])
    back = np.empty(len(rows), np.int64)
    back[order] = np.arange(len(rows))
    return _Divided(parts, rows, [(part, rows[at] - part.first) for part, at in divided], back)
