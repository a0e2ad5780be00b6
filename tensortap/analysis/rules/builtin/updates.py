"""How large updates are beside their weights, followed while a run grows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from tensortap.core.dtypes import Array
from tensortap.index.run_index import RunIndex

from ...run_view.incremental_state import DependsOnValues
from ...run_view.snapshot_rows import SnapshotRows, stored_values

_PAIRS = 6  # pairs of neighbouring steps that are compared by their values


class _Pair(NamedTuple):
    """Two neighbouring captured steps with stored values: number of the tensor's update, the later step, the
    distance in steps, the rows of both."""

    place: int
    step: int
    between: int
    before: int
    after: int


@dataclass(slots=True)
class _Weights:
    """State of a weight: number of captured steps after the first; the last step, its row (-1: no stored
    value) and norm; pairs of steps with stored values, and with norms that prove a large update, by position;
    ratios computed from values, by rows."""

    pairs: int = -1
    step: int | None = None
    row: int = -1
    norm: float = 0.0
    kept: list[_Pair] = field(default_factory=list)
    large: dict[int, tuple[int, float]] = field(default_factory=dict)
    exact: dict[tuple[int, int], float] = field(default_factory=dict)


class Updates(DependsOnValues):
    """norm(update)/norm(weight) per step of each tensor, between neighbouring captured steps at their first
    visits. It is computed from stored values. The difference of the norms is a lower bound, so it can only
    prove updates above `largest`."""

    def __init__(self, largest: float) -> None:
        self._largest = largest
        self._weights: dict[int, _Weights] = {}

    def forget(self, code: int) -> None:
        """Drops all state of a tensor."""
        self._weights.pop(code, None)

    def add(self, rows: SnapshotRows) -> None:
        """Adds snapshots, for each tensor in order after those already added."""
        norm, kept = rows["l2"], rows.kept
        for code, part in rows.groups():
            weights = self._weights.setdefault(code, _Weights())
            step = rows.step[part]
            first = np.append(step[0] != weights.step, step[1:] != step[:-1])
            at = np.flatnonzero(first) + part.start
            if len(at):
                self._go_on(weights, rows.step[at], np.where(kept[at], rows.rows[at], -1), norm[at])

    def _go_on(self, weights: _Weights, step: Array, row: Array, norm: Array) -> None:
        if weights.step is not None:
            step = np.append(weights.step, step)
            row, norm = np.append(weights.row, row), np.append(weights.norm, norm)
        between = np.maximum(np.diff(step), 1)
        with np.errstate(divide="ignore", invalid="ignore"):
            bound = np.abs(np.diff(norm)) / norm[:-1] / between
        place = max(weights.pairs, 0)
        for pair in np.flatnonzero(np.isfinite(bound) & (bound > self._largest)).tolist():
            weights.large[place + pair] = int(step[pair + 1]), float(bound[pair])
        for pair in np.flatnonzero((row[:-1] >= 0) & (row[1:] >= 0)).tolist():
            of_pair = (place + pair, step[pair + 1], between[pair], row[pair], row[pair + 1])
            weights.kept.append(_Pair(*map(int, of_pair)))
        weights.pairs = place + len(between)
        weights.step, weights.row, weights.norm = int(step[-1]), int(row[-1]), float(norm[-1])

    def of(self, run: RunIndex, code: int) -> tuple[Array, Array, int]:
        """(steps, ratios, how many updates there are) of a tensor: the ratios that are known."""
        weights = self._weights.get(code)
        if weights is None:
            return np.zeros(0, np.int64), np.zeros(0), 0
        known = weights.large | dict(_exact(run, weights))
        step = np.array([known[place][0] for place in sorted(known)], np.int64)
        return step, np.array([known[place][1] for place in sorted(known)]), max(weights.pairs, 0)


def _exact(run: RunIndex, weights: _Weights) -> Iterator[tuple[int, tuple[int, float]]]:
    """(position, (step, ratio)) of evenly spaced pairs, computed from the values. Unreadable pairs are
    skipped; the proof from their norms remains."""
    count = len(weights.kept)
    chosen = np.unique(np.linspace(0, count - 1, min(_PAIRS, count)).astype(int)).tolist()
    known, weights.exact = weights.exact, {}
    for place, step, between, before, after in (weights.kept[number] for number in chosen):
        pair = (before, after)
        ratio = known[pair] if pair in known else _ratio(run, before, after) / between
        if not np.isnan(ratio):
            weights.exact[pair] = ratio
            yield place, (step, ratio)


def _ratio(run: RunIndex, before: int, after: int) -> float:
    """norm(after - before) / norm(before); NaN if unknown."""
    found = [value.astype(np.float64) for _, value in stored_values(run, [before, after])]
    if len(found) < 2:
        return np.nan
    old, new = found
    norm = float(np.linalg.norm(old))
    return float(np.linalg.norm(new - old)) / norm if norm > 0 and old.shape == new.shape else np.nan
