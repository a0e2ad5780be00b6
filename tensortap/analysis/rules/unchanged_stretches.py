"""Finds the longest stretch of steps over which a tensor is unchanged, incrementally as the run grows."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from tensortap.core.dtypes import Array

from ..run_view.incremental_state import DependsOnValues
from ..run_view.snapshot_rows import SnapshotRows

STATISTICS = ("min", "max", "mean", "std", "l2", "abs_max")


@dataclass(frozen=True, slots=True)
class Stretch:
    """Neighbouring captured steps that are close to their first one: their number, the first and last step,
    the number of stored values, the rows of the first and last of these (-1: none), and the last L2 norm."""

    steps: int
    first: int
    last: int
    kept: int
    first_kept: int
    last_kept: int
    l2: float

    def merged_with(self, more: Stretch) -> Stretch:
        """Joins this stretch and the one directly after it."""
        first_kept = self.first_kept if self.kept else more.first_kept
        last_kept = more.last_kept if more.kept else self.last_kept
        kept = self.kept + more.kept
        return Stretch(self.steps + more.steps, self.first, more.last, kept, first_kept, last_kept, more.l2)


def _nothing() -> list[Array]:
    """Statistics, steps, rows and flags of stored values for no snapshots."""
    numbers = np.zeros(0, np.int64)
    return [np.zeros((len(STATISTICS), 0)), numbers, numbers, np.zeros(0, np.bool_)]


@dataclass(slots=True)
class _Scan:
    """State of a tensor: its steps and the latest one; its longest finished stretch; the current one, with
    its initial statistics; else the snapshots where an undetected stretch may begin."""

    steps: int = 0
    latest: int | None = None
    longest: Stretch | None = None
    current: Stretch | None = None
    begin: Array | None = None
    waiting: list[Array] = field(default_factory=_nothing)

    def best(self) -> Stretch | None:
        """The longest stretch, the latest of equals."""
        if self.current is None or (self.longest is not None and self.longest.steps > self.current.steps):
            return self.longest
        return self.current


class Stretches(DependsOnValues):
    """For each tensor, the longest stretch of at least `least` captured steps that are close to the first of
    them. Stretches are found from the left, each after the end of the previous one; the first visit of a step
    counts. Close as in `numpy.isclose`, in all of `STATISTICS`; NaN equals NaN."""

    def __init__(self, least: int, rtol: float, atol: float) -> None:
        self._least, self._rtol, self._atol = least, rtol, atol
        self._scans: dict[int, _Scan] = {}

    def of(self, code: int) -> tuple[Stretch | None, int]:
        """(the longest stretch of a tensor, its steps)."""
        scan = self._scans.get(code)
        return (None, 0) if scan is None else (scan.best(), scan.steps)

    def forget(self, code: int) -> None:
        """Drops all state of a tensor."""
        self._scans.pop(code, None)

    def add(self, rows: SnapshotRows) -> None:
        """Adds snapshots, for each tensor in order after those already added."""
        columns = np.stack([rows[name] for name in STATISTICS])
        kept = rows.kept
        for code, part in rows.groups():
            scan = self._scans.setdefault(code, _Scan())
            step = rows.step[part]
            first = np.append(step[0] != scan.latest, step[1:] != step[:-1])
            places = np.flatnonzero(first) + part.start
            scan.latest = int(step[-1])
            scan.steps += len(places)
            if len(places):
                self._go_on(scan, [columns[:, places], rows.step[places], rows.rows[places], kept[places]])

    def _go_on(self, scan: _Scan, added: list[Array]) -> None:
        if scan.current is not None and scan.begin is not None:
            stop = self._reach(added[0], scan.begin)
            if stop:
                scan.current = scan.current.merged_with(_stretch(added, 0, stop))
            if stop == added[0].shape[1]:
                return
            self._end(scan)
            added = [column[..., stop:] for column in added]
        known = [np.concatenate(pair, axis=-1) for pair in zip(scan.waiting, added, strict=True)]
        self._scan(scan, known)

    def _scan(self, scan: _Scan, known: list[Array]) -> None:
        """Processes snapshots; the first may begin a stretch."""
        columns, least, at = known[0], self._least, 0
        count = columns.shape[1]
        begins = np.ones(max(count - least + 1, 0), np.bool_)
        for ahead in range(1, least):
            begins &= self._close(columns[:, ahead : ahead + len(begins)], columns[:, : len(begins)])
        starts = np.flatnonzero(begins)
        while (place := int(np.searchsorted(starts, at))) < len(starts):
            begin = int(starts[place])
            at = begin + least
            at += self._reach(columns[:, at:], columns[:, begin : begin + 1])
            scan.current, scan.begin = _stretch(known, begin, at), columns[:, begin : begin + 1].copy()
            if at == count:
                scan.waiting = [column[..., count:].copy() for column in known]
                return
            self._end(scan)
        at = max(at, count - least + 1)
        scan.waiting = [column[..., at:].copy() for column in known]

    def _reach(self, columns: Array, begin: Array) -> int:
        """Number of columns from the left that are close to one. Checks pieces of growing size, so that a
        short stretch is cheap."""
        at, size = 0, self._least
        while at < columns.shape[1]:
            far = np.flatnonzero(~self._close(columns[:, at : at + size], begin))
            if len(far):
                return at + int(far[0])
            at, size = at + size, size * 2
        return int(columns.shape[1])

    def _end(self, scan: _Scan) -> None:
        scan.longest, scan.current, scan.begin = scan.best(), None, None

    def _close(self, a: Array, b: Array) -> Array:
        """The columns of `a` that are close to those of `b` in every statistic."""
        with np.errstate(invalid="ignore"):
            near = np.abs(a - b) <= self._atol + self._rtol * np.abs(b)
        same = (near & np.isfinite(b)) | (a == b) | (np.isnan(a) & np.isnan(b))
        return np.logical_and.reduce(same)  # type: ignore[no-any-return]


def _stretch(known: list[Array], begin: int, stop: int) -> Stretch:
    columns, step, rows, kept = (column[..., begin:stop] for column in known)
    places = rows[kept]
    first, last = (int(places[0]), int(places[-1])) if len(places) else (-1, -1)
    l2 = float(columns[STATISTICS.index("l2"), -1])
    return Stretch(len(step), int(step[0]), int(step[-1]), len(places), first, last, l2)
