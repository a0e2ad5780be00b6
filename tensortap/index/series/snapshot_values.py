"""One statistic, and the health, of many snapshots, as timelines and trends of nodes show them."""

from __future__ import annotations

import numpy as np

from tensortap.core.dtypes import Array, Floats

from ..catalog.catalog import Catalog
from ..unknown_counts import unknown_counts

UNKNOWN, FINE, INF, NAN = range(4)
_SHARES = {"zero_share": ("zero",), "nan_share": ("nan",), "inf_share": ("pos_inf", "neg_inf")}
TIMELINE_STATISTICS = ("min", "max", "abs_max", "std", "l2", "mean", *_SHARES)


def values_of(catalog: Catalog, row: Array, statistic: str) -> Floats:
    """One of `TIMELINE_STATISTICS` of some rows of the catalog, float64 [rows]; NaN where it is unknown."""
    if statistic not in _SHARES:
        return np.asarray(catalog.column(statistic, row), np.float64)
    names = _SHARES[statistic]
    part = np.sum([np.asarray(catalog.column(name, row), np.float64) for name in names], axis=0)
    size = np.asarray(catalog.column("size", row), np.float64)
    told = (
        (size > 0)
        & ~_any_unknown(catalog, row, ("size",))
        & ~(_any_unknown(catalog, row, names) & (part == 0))
    )
    return np.where(told, part / np.maximum(size, 1), np.nan)


def health_of(catalog: Catalog, row: Array) -> Array:
    """Of some rows of the catalog, uint8 [rows]: UNKNOWN, FINE, INF (an infinity), NAN (a NaN)."""
    infinite = (catalog.column("pos_inf", row) > 0) | (catalog.column("neg_inf", row) > 0)
    health = np.where(catalog.column("nan", row) > 0, NAN, np.where(infinite, INF, FINE))
    health[(health == FINE) & _any_unknown(catalog, row, ("nan", "pos_inf", "neg_inf"))] = UNKNOWN
    return health.astype(np.uint8)


def _any_unknown(catalog: Catalog, row: Array, names: tuple[str, ...]) -> Array:
    """Which rows do not tell all of some counts, bool [rows]."""
    unknown = unknown_counts(catalog, row)
    nothing = np.zeros(len(row), np.bool_)
    found: Array = np.logical_or.reduce([unknown.get(name, nothing) for name in names])
    return found
