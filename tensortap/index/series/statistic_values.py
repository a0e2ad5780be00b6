"""Statistics of rows of the catalog as numbers to draw: NaN where unknown; shares, health, thinning."""

from __future__ import annotations

import numpy as np

from tensortap.core.dtypes import Array, Floats, Ints
from tensortap.core.records import INTEGERS

from ..catalog.catalog import Catalog
from ..unknown_counts import unknown_counts

UNKNOWN, FINE, INF, NAN = range(4)
SHARES = {"zero_share": ("zero",), "nan_share": ("nan",), "inf_share": ("pos_inf", "neg_inf")}
TIMELINE_STATISTICS = ("min", "max", "abs_max", "std", "l2", "mean", *SHARES)


def values_of(catalog: Catalog, row: Array, statistic: str) -> Floats:
    """A statistic, count or share of some rows of the catalog, float64 [rows]; NaN if unknown."""
    if statistic not in SHARES:
        values = np.asarray(catalog.column(statistic, row), np.float64)
        if statistic not in INTEGERS:
            return values
        return np.where(_any_unknown(catalog, row, (statistic,)), np.nan, values)
    names = SHARES[statistic]
    part = np.sum([np.asarray(catalog.column(name, row), np.float64) for name in names], axis=0)
    size = np.asarray(catalog.column("size", row), np.float64)
    known = (size > 0) & ~_any_unknown(catalog, row, ("size",))
    known &= ~(_any_unknown(catalog, row, names) & (part == 0))
    return np.where(known, part / np.maximum(size, 1), np.nan)


def health_of(catalog: Catalog, row: Array) -> Array:
    """Health of some rows of the catalog, uint8 [rows]: UNKNOWN, FINE, INF (an infinity), NAN (a NaN)."""
    infinite = (catalog.column("pos_inf", row) > 0) | (catalog.column("neg_inf", row) > 0)
    health = np.where(catalog.column("nan", row) > 0, NAN, np.where(infinite, INF, FINE))
    health[(health == FINE) & _any_unknown(catalog, row, ("nan", "pos_inf", "neg_inf"))] = UNKNOWN
    return health.astype(np.uint8)


def _any_unknown(catalog: Catalog, row: Array, names: tuple[str, ...]) -> Array:
    """Whether a row lacks some of the counts, bool [rows]."""
    unknown = unknown_counts(catalog, row)
    nothing = np.zeros(len(row), np.bool_)
    found: Array = np.logical_or.reduce([unknown.get(name, nothing) for name in names])
    return found


def thin(count: int, limit: int | None) -> Ints:
    """At most `limit` of the positions 0 … count - 1, evenly spread, first and last among them (of one: the
    last)."""
    if limit is None or count <= limit:
        return np.arange(count)
    if limit <= 1:
        return np.arange(count)[count - max(limit, 0) :]
    return np.round(np.linspace(0, count - 1, limit)).astype(np.int64)
