"""Which snapshot stands for each cell of a timeline: the worst of those that fall into it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tensortap.core.dtypes import Array, Floats

from ..catalog.catalog import Catalog
from .snapshot_values import FINE, NAN, health_of, values_of


@dataclass(frozen=True, slots=True)
class Candidates:
    """Snapshots of which one stands for a cell, arrays [snapshots].

    Attributes:
        row: rows of the catalog. value: the statistic; NaN where it is unknown, or does not count.
        health: 0 unknown, 1 fine, 2 an infinity, 3 a NaN. bad: how many elements are that.
        keys: what makes one worse than another, the weightiest first; the largest is the worst.
    """

    row: Array
    value: Floats
    health: Array
    bad: Floats
    keys: tuple[Floats, ...]

    def worst(self, at: Array, cell: Array, count: int) -> Array:
        """Which of the candidates `at` stands for each of `count` cells, int64 [count]; -1 for none.

        A NaN before an infinity, the first of these; else the worst value, and where it first was.
        """
        found = np.full(count, -1, np.int64)
        for key in self.keys:
            largest = np.full(count, -np.inf)
            np.maximum.at(largest, cell, key[at])
            kept = key[at] == largest[cell]
            at, cell = at[kept], cell[kept]
        found[cell] = at
        return found


def candidates(catalog: Catalog, row: Array, statistic: str, place: Array, computed: Array) -> Candidates:
    """What is told of some rows of the catalog.

    Args:
        statistic: one of `TIMELINE_STATISTICS`.
        place: where each row's tensor is in the data flow.
        computed: whether each row's tensor is. Only of these the share of zeros counts, where they are
            floating point and have several elements.
    """

    def column(name: str) -> Floats:
        return np.asarray(catalog.column(name, row), np.float64)

    health, value = health_of(catalog, row), values_of(catalog, row, statistic)
    if statistic == "zero_share":
        value = np.where(computed & (column("size") > 1) & _floating(catalog, row), value, np.nan)
    bad = np.where(health == NAN, column("nan"), column("pos_inf") + column("neg_inf"))
    score = {"min": -value, "mean": np.abs(value)}.get(statistic, value)
    score = np.where(health > FINE, 0.0, np.where(np.isnan(score), -np.inf, score))
    keys = (health.astype(np.float64), score, -column("step"), -place.astype(np.float64), -column("visit"))
    return Candidates(row, value, health, bad, keys)


def _floating(catalog: Catalog, row: Array) -> Array:
    floating = np.array([name.startswith(("float", "bfloat")) for name in catalog.dtypes.values], np.bool_)
    found: Array = floating[catalog.column("dtype", row)]
    return found
