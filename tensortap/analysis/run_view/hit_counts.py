"""Counts of snapshots with a trait, per tensor, extended incrementally as a run grows."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass

import numpy as np

from tensortap.core.dtypes import Array

from ..model_graph.roles import TensorRole
from .run_view import RunView
from .snapshot_rows import SnapshotRows, distinct

Measure = Callable[[SnapshotRows], tuple[Array, Array]]
_BEFORE = np.iinfo(np.int64).min  # of every step


@dataclass(slots=True)
class HitCount:
    """Snapshots of a tensor that have the trait: how many, at how many steps, the first and last of these;
    the worst of their values (`key` sorts them: the largest is the worst), of equals the earliest, and its
    step."""

    rows: int
    steps: int
    first: int
    last: int
    key: float
    value: float
    step: int


class HitCounts:
    """The snapshots with a trait, per tensor; tensors without any are not listed."""

    def __init__(self) -> None:
        self.by_tensor: dict[int, HitCount] = {}

    def forget(self, code: int) -> None:
        """Drops all state of a tensor."""
        self.by_tensor.pop(code, None)

    def add(self, rows: SnapshotRows, has: Array, values: Array, *, low: bool = False) -> None:
        """Adds snapshots, for each tensor in order after those already added.

        Args:
            has: bool[rows], which have the trait. values: float64[rows], what was measured; NaN is mildest.
            low: the smallest value is the worst, not the largest.
        """
        at = np.flatnonzero(has)
        if not len(at):
            return
        tensor, step, values = rows.tensor[at], rows.step[at], values[at]
        keys = np.where(np.isnan(values), -np.inf, -values if low else values)
        starts = np.flatnonzero(np.append(True, tensor[1:] != tensor[:-1]))
        stops = np.append(starts[1:], len(at))
        new = np.append(True, step[1:] != step[:-1])
        new[starts] = True
        steps = np.add.reduceat(new.astype(np.int64), starts)
        most = np.repeat(np.maximum.reduceat(keys, starts), stops - starts)
        worst = np.minimum.reduceat(np.where(keys == most, np.arange(len(at)), len(at)), starts)
        columns = (
            *(tensor[starts], stops - starts, steps, step[starts], step[stops - 1]),
            *(keys[worst], values[worst], step[worst]),
        )
        for code, *facts in zip(*(column.tolist() for column in columns), strict=True):
            self._put(code, HitCount(*facts))

    def _put(self, code: int, more: HitCount) -> None:
        known = self.by_tensor.get(code)
        if known is None:
            self.by_tensor[code] = more
            return
        known.rows += more.rows
        known.steps += more.steps - (known.last == more.first)
        known.last = more.last
        if more.key > known.key:
            known.key, known.value, known.step = more.key, more.value, more.step


class SnapshotCounts:
    """How many snapshots there are of each tensor, and at how many steps."""

    def __init__(self) -> None:
        self._columns = np.zeros((3, 0), np.int64)  # snapshots, steps, the last step

    def rows(self, code: int) -> int:
        """Snapshots of a tensor."""
        return int(self._columns[0, code]) if code < self._columns.shape[1] else 0

    def steps(self, code: int) -> int:
        """Steps of a tensor's snapshots."""
        return int(self._columns[1, code]) if code < self._columns.shape[1] else 0

    def last(self, code: int) -> int:
        """The last step of a tensor's snapshots; it has at least one."""
        return int(self._columns[2, code])

    def forget(self, code: int) -> None:
        """Drops all state of a tensor."""
        if code < self._columns.shape[1]:
            self._columns[:, code] = (0, 0, _BEFORE)

    def add(self, rows: SnapshotRows) -> None:
        """Adds snapshots, for each tensor in order after those already added."""
        starts, tensor, step = rows.starts, rows.tensor, rows.step
        more = int(tensor[-1]) + 1 - self._columns.shape[1]
        if more > 0:
            fresh = np.repeat(np.array([[0], [0], [_BEFORE]], np.int64), more, axis=1)
            self._columns = np.concatenate((self._columns, fresh), axis=1)
        codes = tensor[starts]
        stops = np.append(starts[1:], len(rows))
        new = np.append(True, step[1:] != step[:-1])
        new[starts] = step[starts] != self._columns[2, codes]
        self._columns[0, codes] += stops - starts
        self._columns[1, codes] += np.add.reduceat(new.astype(np.int64), starts)
        self._columns[2, codes] = step[stops - 1]


@dataclass(frozen=True, slots=True)
class ZeroCounts:
    """The exact zeros of a gradient: number of steps with an all-zero gradient, the first and last of these;
    the share of zero elements among all; if the gradient is all zero at its last step, the first step of
    that stretch and its length (`lasting`); `passing`: length of the longest stretch that ended."""

    steps: int
    first: int
    last: int
    share: float
    since: int | None
    lasting: int
    passing: int


@dataclass(slots=True)
class _Tail:
    """The steps after the last one (`broken`) with a visit that is not all zeros: the first, the last and
    their number; `passing`: the longest stretch before it."""

    broken: int | None = None
    first: int | None = None
    last: int | None = None
    steps: int = 0
    passing: int = 0

    def go_on(self, step: Array, whole: Array) -> None:
        """Adds snapshots by their steps, and whether all of each is 0."""
        others = np.flatnonzero(~whole)
        if len(others):
            if self.steps or len(others) < len(step):
                self.passing = max(self.passing, self._longest(step, whole))
            self.broken, self.first, self.last, self.steps = int(step[others[-1]]), None, None, 0
            step = step[others[-1] + 1 :]
        more = distinct(step if self.broken is None else step[step != self.broken])
        if self.last is not None:
            more = more[more != self.last]
        if len(more):
            self.first = int(more[0]) if self.first is None else self.first
            self.last, self.steps = int(more[-1]), self.steps + len(more)

    def _longest(self, step: Array, whole: Array) -> int:
        """The longest unbroken stretch that ended, among the added steps and those before them."""
        breaks, zeros = distinct(step[~whole]), distinct(step[whole])
        known = [at for at in (self.broken, self.last) if at is not None]
        zeros = zeros[~np.isin(zeros, [*breaks.tolist(), *known])]
        counts = np.diff(np.searchsorted(zeros, breaks), prepend=0)
        counts[0] += self.steps - int(self.last == breaks[0])
        return int(counts.max())


class Zeros:
    """Exact zeros by tensor."""

    def __init__(self) -> None:
        self._all = HitCounts()
        self._tails: dict[int, _Tail] = {}
        self._elements: dict[int, tuple[float, float]] = {}  # zeros, all: whole numbers, so added exactly

    def of(self, code: int) -> ZeroCounts:
        """Hits of a tensor."""
        zero, size = self._elements.get(code, (0.0, 0.0))
        whole = self._all.by_tensor.get(code)
        at = (0, 0, 0) if whole is None else (whole.steps, whole.first, whole.last)
        tail = self._tails.get(code, _Tail())
        return ZeroCounts(*at, zero / size if size else 0.0, tail.first, tail.steps, tail.passing)

    def forget(self, code: int) -> None:
        """Drops all state of a tensor."""
        self._all.forget(code)
        self._tails.pop(code, None)
        self._elements.pop(code, None)

    def add(self, rows: SnapshotRows) -> None:
        """Adds snapshots, for each tensor in order after those already added."""
        zero, size, starts = rows["zero"], rows["size"], rows.starts
        whole = (zero == size) & (size > 0)
        self._all.add(rows, whole, zero)
        for code, part in rows.groups():
            self._tails.setdefault(code, _Tail()).go_on(rows.step[part], whole[part])
        sums = [np.add.reduceat(np.nan_to_num(column), starts).tolist() for column in (zero, size)]
        for code, *more in zip(rows.tensor[starts].tolist(), *sums, strict=True):
            known = self._elements.get(code, (0.0, 0.0))
            self._elements[code] = known[0] + more[0], known[1] + more[1]


def hit_counts_of(
    view: RunView,
    key: Hashable,
    tensors: Iterable[TensorRole],
    measure: Measure,
    *,
    low: bool = False,
) -> HitCounts:
    """Snapshots of some tensors that have a trait.

    Args:
        key: identifies the measurement and all limits that `measure` uses.
        measure: (which snapshots have it, the measured number of each).
        low: the smallest value is the worst, not the largest.
    """
    return view.incremental(
        key, HitCounts, tensors, lambda state, rows: state.add(rows, *measure(rows), low=low)
    )


def snapshot_counts_of(view: RunView) -> SnapshotCounts:
    """How many snapshots and steps each tensor has."""
    return view.incremental("counted", SnapshotCounts, view.tensors, lambda state, rows: state.add(rows))
