"""The tensors that both sides captured at a step, visit by visit, and how far they are apart."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from tensortap.core.dtypes import Array
from tensortap.core.errors import TensortapError
from tensortap.index.run_index import RunIndex
from tensortap.index.snapshot import Snapshot, snapshots_at
from tensortap.index.values import find_histograms, read_slice, stored_sample

from ..model_graph.roles import Slot
from .matching.row_alignment import CodeMap, StepRows, joined
from .metrics.distances import RTOL, Metrics, of_values
from .metrics.summary_bounds import Bounds, distance_bound, equal_shapes, equal_summaries, kl_divergence
from .metrics.ulp import common_dtype

MAX_BYTES = 64 << 20  # of one value: larger ones are compared by their summaries
MAX_VISITS = 256  # of a tensor at a step, the first ones
_TOGETHER = 256  # pairs whose snapshots are looked up at once


class PairDistance(NamedTuple):
    """How far two tensors are apart at a visit.

    Attributes:
        number: of the pair among those of the step. rtol: `RTOL` of the coarser dtype.
        basis: what is known of them: `values`; `sample`, some elements of each value, and the summaries;
        `summaries`; `shapes`, which differ. same: nothing that is known differs.
        relative: the largest difference as a part of the scale, absolute: that itself; infinite where NaN or
        infinities are not the same, or the shapes differ.
    """

    number: int
    visit: int
    size: int
    rtol: float
    basis: str
    same: bool
    relative: float
    absolute: float


class PairDetails(NamedTuple):
    """The snapshots of a pair, and every metric."""

    a: Snapshot
    b: Snapshot
    metrics: Metrics


class StepPairs:
    """The pairs of tensors of two matched graphs at a step."""

    def __init__(self, codes: CodeMap, a: RunIndex, b: RunIndex, left: StepRows, right: StepRows) -> None:
        self.a, self.b = a, b
        found = joined(left, right, codes.partner)
        i, j = (np.zeros(0, np.int64),) * 2 if found is None else found
        tensor = left.tensor[i]
        starts = np.flatnonzero(np.append(True, tensor[1:] != tensor[:-1])) if len(i) else i
        nth = np.arange(len(i)) - np.repeat(starts, np.diff(np.append(starts, len(i))))
        i, j = i[nth < MAX_VISITS], j[nth < MAX_VISITS]
        self._rows = left.row[i], right.row[j]
        self._tensor, self._visit = left.tensor[i], left.visit[i]
        self._codes = codes
        self._equal = equal_summaries(a, b, *self._rows)
        self._bounds = Bounds(a, b, *self._rows)
        self._basis = np.where(equal_shapes(a, b, *self._rows), "summaries", "shapes").astype(object)
        self._values: dict[int, Metrics] = {}

    def __len__(self) -> int:
        return len(self._visit)

    def measured(self, progress: Callable[[int], None]) -> dict[Slot, list[PairDistance]]:
        """Slot in A's graph -> how far the two are apart, by visit.

        Args:
            progress: called with the number of pairs whose values were read.
        """
        self._read_values(progress)
        self._read_histograms()
        infinite = (self._bounds.nonfinite_a > 0) | (self._bounds.nonfinite_b > 0) | (self._basis == "shapes")
        relative, absolute, same = self._bounds.relative, self._bounds.max_abs.copy(), self._equal.copy()
        relative[infinite] = absolute[infinite] = math.inf
        for number, metrics in self._values.items():
            relative[number], absolute[number] = _error_of(metrics)
            same[number] = metrics.differing == 0 and (self._basis[number] == "values" or same[number])
        columns = (
            range(len(self)),
            self._visit.tolist(),
            self.a.catalog.column("size", self._rows[0]).tolist(),
            self._rtol().tolist(),
            self._basis.tolist(),
            same.tolist(),
            np.nan_to_num(relative, nan=0.0, posinf=math.inf).tolist(),
            np.nan_to_num(absolute, nan=0.0, posinf=math.inf).tolist(),
        )
        found: dict[Slot, list[PairDistance]] = {}
        slots = self._codes.slots
        measures = map(PairDistance._make, zip(*columns, strict=True))
        for code, measure in zip(self._tensor.tolist(), measures, strict=True):
            found.setdefault(slots[code], []).append(measure)
        return found

    def details(self, numbers: list[int]) -> Iterator[PairDetails]:
        """Everything about some pairs."""
        for first in range(0, len(numbers), _TOGETHER):
            some = np.array(numbers[first : first + _TOGETHER], np.int64)
            yield from map(PairDetails, *self._snapshots(some), self._metrics(some))

    def _rtol(self) -> Array:
        """`RTOL` of the coarser dtype of each pair, 0 for whole numbers, booleans and text."""
        of_a, of_b = (run.catalog.column("dtype", rows) for run, rows in self._sides())
        names_a, names_b = self.a.catalog.dtypes.values, self.b.catalog.dtypes.values
        table = [[RTOL.get(common_dtype(a, b), 0.0) for b in names_b] for a in names_a]
        return np.array(table or [[0.0]])[of_a, of_b]

    def _sides(self) -> tuple[tuple[RunIndex, Array], tuple[RunIndex, Array]]:
        return (self.a, self._rows[0]), (self.b, self._rows[1])

    def _snapshots(self, numbers: Array) -> tuple[list[Snapshot], list[Snapshot]]:
        left, right = (snapshots_at(run.catalog, rows[numbers]) for run, rows in self._sides())
        return left, right

    def _read_values(self, progress: Callable[[int], None]) -> None:
        kept = np.logical_and(*(run.catalog.column("kept", rows) for run, rows in self._sides()))
        wanted = np.flatnonzero(kept & (self._basis != "shapes"))
        for first in range(0, len(wanted), _TOGETHER):
            some = wanted[first : first + _TOGETHER]
            for place, (number, a, b) in enumerate(zip(some.tolist(), *self._snapshots(some), strict=True)):
                progress(first + place)
                arrays = read_both(self.a, self.b, a, b)
                if arrays is None:
                    continue
                metrics = of_values(*arrays, a.dtype, b.dtype)
                whole = arrays[0].size == a.size
                self._basis[number] = "values" if whole else "sample"
                self._values[number] = metrics if whole else _beyond(metrics, self._bounds, number, a.size)

    def _read_histograms(self) -> None:
        """Reads the histograms of pairs whose other statistics differ without proving that any element
        differs much."""
        bounds = self._bounds
        decided = self._equal | (bounds.max_abs > 0) | (bounds.nonfinite_a > 0) | (bounds.nonfinite_b > 0)
        unknown = np.flatnonzero(~decided & np.isin(self._basis, ("summaries", "sample")))
        for first in range(0, len(unknown), _TOGETHER):
            some = unknown[first : first + _TOGETHER]
            each = zip(some.tolist(), *self._snapshots(some), self._histograms(some), strict=True)
            for number, a, b, histograms in each:
                if histograms is not None:
                    bounds.max_abs[number] = distance_bound(a, b, *histograms)

    def _histograms(self, numbers: Array) -> list[Any]:
        """Both histograms of each pair; None if the dump is damaged."""
        try:
            left, right = (
                find_histograms(run, snapshots_at(run.catalog, rows[numbers])) for run, rows in self._sides()
            )
        except (TensortapError, OSError):
            return [None] * len(numbers)
        return list(zip(left, right, strict=True))

    def _metrics(self, numbers: Array) -> list[Metrics]:
        """Every metric of some pairs."""
        found = [self._without_kl(number) for number in numbers.tolist()]
        odd = [at for at, metrics in enumerate(found) if math.isnan(metrics.kl)]
        some = numbers[odd]
        each = zip(odd, *self._snapshots(some), self._histograms(some), strict=True)
        for at, a, b, both in each:
            if both is not None and self._basis[numbers[at]] != "shapes":
                found[at] = replace(found[at], kl=kl_divergence(a, b, *both))
        return found

    def _without_kl(self, number: int) -> Metrics:
        """The metrics of a pair; without the divergence of the histograms, but where that must be 0."""
        if self._basis[number] == "shapes":
            return Metrics()
        known = self._values.get(number) or self._bounds.metrics(number)
        same = known.differing == 0 if self._basis[number] == "values" else self._equal[number]
        return replace(known, kl=0.0) if same else known


def read_both(
    run_a: RunIndex, run_b: RunIndex, a: Snapshot, b: Snapshot, selection: str = "", limit: int = MAX_BYTES
) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]] | None:
    """Reads both values, or the same sample of both; None if one was not stored, is damaged or too large."""
    try:
        return read_pair(run_a, run_b, a, b, selection, limit)
    except (TensortapError, OSError):
        return None


def read_pair(
    run_a: RunIndex, run_b: RunIndex, a: Snapshot, b: Snapshot, selection: str = "", limit: int = MAX_BYTES
) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]] | None:
    """Both values, or the same sample of them; None if one was not stored, or their shapes or samples differ.

    Raises:
        SelectionError, LimitError, ValueNotKeptError, DamagedError: as `read_slice`.
    """
    if not (a.kept and b.kept) or stored_sample(run_a, a) != stored_sample(run_b, b):
        return None
    left = read_slice(run_a, a, selection, limit=limit)
    right = read_slice(run_b, b, selection, limit=limit)
    return (left, right) if left.shape == right.shape else None


def _beyond(sample: Metrics, bounds: Bounds, number: int, size: int) -> Metrics:
    """The metrics of a sample of two tensors, extended by their summaries: `max_abs`, `l2` and metrics
    derived from them are lower bounds, the others are those of the sample."""
    proved = bounds.metrics(number)
    max_abs, l2 = _larger(sample.max_abs, proved.max_abs), _larger(sample.l2, proved.l2)
    scale = _larger(sample.scale, proved.scale)
    return replace(
        sample,
        scale=scale,
        max_abs=max_abs,
        l2=l2,
        rmse=_larger(sample.rmse, proved.rmse),
        relative=max_abs / scale if scale > 0 else 0.0,
        nonfinite_a=max(sample.nonfinite_a, proved.nonfinite_a),
        nonfinite_b=max(sample.nonfinite_b, proved.nonfinite_b),
    )


def _larger(a: float, b: float) -> float:
    return float(np.fmax(a, b))


def _error_of(metrics: Metrics) -> tuple[float, float]:
    """(difference as a part of the scale, absolute difference): infinite where NaN or infinities are not the
    same."""
    if metrics.nonfinite_a or metrics.nonfinite_b:
        return math.inf, math.inf
    if math.isnan(metrics.max_abs):
        share = metrics.differing
        return (share, share) if share > 0 else (0.0, 0.0)
    return metrics.relative, metrics.max_abs
