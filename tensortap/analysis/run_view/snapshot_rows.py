"""Snapshots as columns, ordered by tensor, step and visit, and their stored values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

import numpy as np

from tensortap.core.dtypes import Array
from tensortap.core.errors import TensortapError
from tensortap.index.catalog.catalog import Catalog
from tensortap.index.run_index import RunIndex
from tensortap.index.snapshot import Snapshot, snapshots_at
from tensortap.index.values import read_slice


class SnapshotRows:
    """Snapshots ordered by tensor, step and visit. `rows["abs_max"]` is a column, float64."""

    def __init__(self, run: RunIndex, rows: Array) -> None:
        visit, step, tensor = (_column(run.catalog, name, rows) for name in ("visit", "step", "tensor"))
        if not _in_order(tensor, step, visit):  # snapshots are captured in order, mostly
            order = np.lexsort((visit, step, tensor))
            rows, tensor, step = rows[order], tensor[order], step[order]
        self._run = run
        self._parent: tuple[SnapshotRows, slice | Array] | None = None
        self._held: dict[str, Array] = {}
        self.rows, self.tensor, self.step = rows, tensor, step

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, column: str) -> Array:
        if self._parent is None:
            return self._read(column)
        parent, part = self._parent
        if column not in parent._held:  # read once for all parts: one by one takes far longer
            parent._held[column] = parent[column]
        found: Array = parent._held[column][part]
        return found

    def _read(self, column: str) -> Array:
        return _column(self._run.catalog, column, self.rows).astype(np.float64)

    def part(self, part: slice | Array, *, share: bool = True) -> SnapshotRows:
        """Some of the rows, by position or a mask. Parts of the same rows share the data read, unless `share`
        is off (all of a long run takes much memory)."""
        if not isinstance(part, slice) and part.dtype == np.bool_ and part.all():
            return self
        made = SnapshotRows.__new__(SnapshotRows)
        made._run, made._held = self._run, {}
        made._parent = (self, part) if share else None
        made.rows, made.tensor, made.step = self.rows[part], self.tensor[part], self.step[part]
        return made

    @property
    def kept(self) -> Array:
        """Whether a value was stored."""
        return self["kept"] > 0

    @cached_property
    def finite(self) -> Array:
        """Finite elements of each."""
        found: Array = self["zero"] + self["negative"] + self["positive"]
        return found

    def share(self, column: str) -> Array:
        """A count as a share of all elements; NaN without elements."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return self[column] / self["size"]

    @property
    def steps(self) -> Array:
        """The steps of rows of one tensor, each once."""
        return distinct(self.step)

    @cached_property
    def starts(self) -> Array:
        """First row of each tensor."""
        return np.flatnonzero(np.append(True, self.tensor[1:] != self.tensor[:-1]))[: len(self)]

    def groups(self) -> Iterator[tuple[int, slice]]:
        """(code of the tensor, its rows) one by one."""
        if not len(self):
            return
        stops = np.append(self.starts[1:], len(self)).tolist()
        for start, stop in zip(self.starts.tolist(), stops, strict=True):
            yield int(self.tensor[start]), slice(start, stop)


class DecodedRows(SnapshotRows):
    """Snapshots of a compacted run whose rows are not in memory yet: only the columns that they were made of.
    Their `rows` are unknown.

    Args:
        columns: in the order of the catalog.
    """

    def __init__(self, run: RunIndex, columns: Mapping[str, Array]) -> None:
        order = np.lexsort((columns["visit"], columns["step"], columns["tensor"]))
        self._run, self._parent, self._held = run, None, {}
        self._columns = {name: column[order] for name, column in columns.items()}
        self.rows = np.full(len(order), -1)
        self.tensor, self.step = self._columns["tensor"], self._columns["step"]

    def _read(self, column: str) -> Array:
        return self._columns[column].astype(np.float64)


def _column(catalog: Catalog, name: str, rows: Array) -> Array:
    """A column; of most rows, it is read in storage order first: that is faster."""
    if len(rows) * 2 > catalog.rows:
        found: Array = catalog.column(name, slice(0, int(rows.max()) + 1))[rows]
        return found
    return catalog.column(name, rows)


def short(numbers: Array) -> Array:
    """Numbers with the same order, of 16 bits if possible: those are sorted without comparisons."""
    low, high = (int(numbers.min()), int(numbers.max())) if len(numbers) else (0, 0)
    return (numbers - low).astype(np.uint16) if high - low < 1 << 16 else numbers


def distinct(ascending: Array) -> Array:
    """Each of the ascending numbers once; several times as fast as `np.unique`, which has to sort."""
    if not len(ascending):
        return ascending
    found: Array = ascending[np.append(True, ascending[1:] != ascending[:-1])]
    return found


def _in_order(tensor: Array, step: Array, visit: Array) -> bool:
    """Whether rows are ordered by tensor, step and visit already."""
    new_tensor, same = tensor[1:] > tensor[:-1], tensor[1:] == tensor[:-1]
    later = (step[1:] > step[:-1]) | ((step[1:] == step[:-1]) & (visit[1:] >= visit[:-1]))
    return bool(np.all(new_tensor | (same & later)))


MAX_BYTES = 16 << 20  # of one value


def stored_values(
    run: RunIndex, rows: Array | Sequence[int], limit: int = MAX_BYTES
) -> Iterator[tuple[Snapshot, Array]]:
    """The whole values of some snapshots (rows of the catalog), in order. Skips those that are damaged,
    larger than `limit` bytes or deleted meanwhile."""
    for snapshot in snapshots_at(run.catalog, np.asarray(rows, np.int64)):
        try:
            yield snapshot, np.asarray(read_slice(run, snapshot, limit=limit))
        except (TensortapError, OSError):
            continue
