"""The tensors that both sides captured, visit by visit, and how far they are apart."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from tensortap.dump import Histogram, TensortapError
from tensortap.index import RunIndex, Snapshot, find_histograms, kept_sample, read_slice, take

from ..provenance.step import Slot, StepTensors
from .match import Matching
from .metrics import NAN, Metrics, kl_divergence, of_summaries, of_values

MAX_BYTES = 64 << 20  # of one value: larger ones are compared by their summaries
MAX_VISITS = 256  # of a tensor at a step, the first ones
_TOGETHER = 256  # pairs whose snapshots are looked up at once
_LookedUp = tuple[Snapshot, Histogram | None]
Basis = str  # `values`, `summaries`, or `shapes` where those differ


@dataclass(frozen=True, slots=True)
class Measured:
    """One tensor at one visit on both sides. `basis`: what the metrics come from, `values`, `summaries`, or
    `shapes`: these differ, so that there are none."""

    a: Snapshot
    b: Snapshot
    basis: Basis
    metrics: Metrics


def slot_pairs(matching: Matching, a: StepTensors, b: StepTensors) -> list[tuple[Slot, Slot]]:
    """Slots that both sides captured, in data flow order of A."""
    order = matching.a.order
    pairs = []
    for row, slot in a.captured:
        partner = matching.partner.get(row)
        if partner is not None and (partner, slot) in b.captured:
            pairs.append(((row, slot), (partner, slot)))
    return sorted(pairs, key=lambda pair: (int(order[pair[0][0]]), pair[0]))


def measured(
    a: StepTensors, b: StepTensors, pairs: Sequence[tuple[Slot, Slot]]
) -> Iterator[tuple[Slot, list[Measured]]]:
    """Slot in A -> both tensors of a pair, visit by visit (the first `MAX_VISITS`); visits of one side only
    are left out."""
    for first in range(0, len(pairs), _TOGETHER):
        some = pairs[first : first + _TOGETHER]
        left = _looked_up(a, [slot for slot, _ in some])
        right = _looked_up(b, [slot for _, slot in some])
        for (slot, _), of_a, of_b in zip(some, left, right, strict=True):
            visits = sorted(of_a.keys() & of_b.keys())[:MAX_VISITS]
            yield slot, [_measure(a.run, b.run, of_a[visit], of_b[visit]) for visit in visits]


def _looked_up(tensors: StepTensors, slots: Sequence[Slot]) -> list[dict[int, _LookedUp]]:
    """Visit -> snapshot and histogram, of each slot; one by one each would take as long as comparing it."""
    groups = [tensors.captured[slot] for slot in slots]
    snapshots = take(tensors.run.catalog, np.concatenate(groups))
    histograms: Sequence[Histogram | None] = [None] * len(snapshots)
    with contextlib.suppress(TensortapError, OSError):
        histograms = find_histograms(tensors.run, snapshots)
    each = iter(zip(snapshots, histograms, strict=True))
    return [{found[0].visit: found for found in islice(each, len(group))} for group in groups]


def _measure(run_a: RunIndex, run_b: RunIndex, left: _LookedUp, right: _LookedUp) -> Measured:
    """How far two snapshots are apart: from their values where both were kept, else from summaries."""
    (a, of_a), (b, of_b) = left, right
    if a.shape != b.shape:
        return Measured(a, b, "shapes", Metrics())
    kl = NAN if of_a is None or of_b is None else kl_divergence(a, b, of_a, of_b)
    arrays = read_both(run_a, run_b, a, b)
    if arrays is None:
        return Measured(a, b, "summaries", of_summaries(a, b, kl))
    return Measured(a, b, "values", of_values(*arrays, a.dtype, b.dtype, kl))


def read_both(
    run_a: RunIndex, run_b: RunIndex, a: Snapshot, b: Snapshot, selection: str = "", limit: int = MAX_BYTES
) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]] | None:
    """Both values, or the same sample of them; None if one was not kept, is damaged or too large."""
    if not (a.kept and b.kept):
        return None
    try:
        if kept_sample(run_a, a) != kept_sample(run_b, b):
            return None
        left = read_slice(run_a, a, selection, limit=limit)
        right = read_slice(run_b, b, selection, limit=limit)
    except (TensortapError, OSError):
        return None
    return (left, right) if left.shape == right.shape else None


def error_of(measure: Measured) -> tuple[float, float]:
    """(difference as a part of the scale, absolute difference): infinite where NaN or infinities are on one
    side only or the shapes differ."""
    metrics = measure.metrics
    if measure.basis == "shapes" or metrics.nonfinite_a or metrics.nonfinite_b:
        return math.inf, math.inf
    if math.isnan(metrics.max_abs):
        share = metrics.differing
        return (share, share) if share > 0 else (0.0, 0.0)
    return metrics.relative, metrics.max_abs
