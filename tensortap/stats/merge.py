"""Merge the statistics of many snapshots into those that all their elements have together.

Counts add up, extrema are those of all; mean, std and L2 are those over the finite elements of all snapshots,
but for rounding. One snapshot alone keeps its statistics to the bit.

A snapshot weighs as much as it has finite elements. Where an import does not know how many are NaN or
infinite (FORMAT.md, "Unknown counts"), those count as finite. An unknown mean or L2 is skipped.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tensortap.core.dtypes import Array
from tensortap.core.records import COUNTS, STATISTICS

ADDED = ("snapshots", "size", "finite", *COUNTS)  # int64
MERGED = (*ADDED, *STATISTICS)
_MAX_COUNT = np.iinfo(np.int64).max


def finite_elements(columns: Mapping[str, Array], is_text: Array) -> Array:
    """Number of elements in the statistics of each snapshot, int64 [rows]; 0 for text."""
    size, *others = (columns[name].astype(np.int64) for name in ("size", "nan", "pos_inf", "neg_inf"))
    for count in others:
        size -= count
    return np.where(is_text, 0, np.maximum(size, 0))


def merge_statistics(columns: Mapping[str, Array], starts: Array) -> dict[str, Array]:
    """The statistics `MERGED` of groups of rows.

    Args:
        columns: `MERGED`, [rows]; rows may be snapshots (`snapshots` is 1) or merged ones.
        starts: index of the first row of each group, ascending from 0. No group is empty.
    """
    rows = len(columns["size"])
    if len(starts) == rows:
        return {name: columns[name] for name in MERGED}
    merged = {name: _added(columns[name], starts) for name in ADDED}
    merged["min"] = np.fmin.reduceat(columns["min"], starts)
    merged["max"] = np.fmax.reduceat(columns["max"], starts)
    merged["abs_max"] = np.fmax.reduceat(columns["abs_max"], starts)
    with np.errstate(all="ignore"):
        merged |= _moments(columns, starts, rows)
    return {name: merged[name] for name in MERGED}


def group_starts(*keys: Array) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Index of the first row of each group of rows with equal keys, in sorted rows."""
    rows = len(keys[0])
    if rows == 0:
        return np.zeros(0, np.int64)
    changes = np.zeros(rows, bool)
    changes[0] = True
    for key in keys:
        changes[1:] |= key[1:] != key[:-1]
    return np.flatnonzero(changes)


def _moments(columns: Mapping[str, Array], starts: Array, rows: int) -> dict[str, Array]:
    """Mean, std and L2, centred at a mean of the group and scaled, so that nothing cancels or overflows."""
    group = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, rows)))
    known = (columns["finite"] > 0) & ~np.isnan(columns["mean"])
    weight = np.where(known, columns["finite"].astype(np.float64), 0.0)
    total = np.add.reduceat(weight, starts)
    share = weight / np.where(total > 0, total, 1.0)[group]
    pivot_row = np.minimum.reduceat(np.where(known, np.arange(rows), rows - 1), starts)
    pivot = columns["mean"][pivot_row]
    offset = np.where(known, columns["mean"] - pivot[group], 0.0)
    shift = np.add.reduceat(share * offset, starts)
    plain = np.add.reduceat(np.where(known, share * columns["mean"], 0.0), starts)
    mean = np.where(np.isfinite(shift), pivot + shift, plain)
    std = _spread(columns["std"], offset - shift[group], known, share, starts)
    overflown = ~np.isfinite(std)
    if overflown.any():  # numbers near the largest float64 may differ by more than that
        quarter = columns["mean"] / 4 - mean[group] / 4
        std = np.where(overflown, 4 * _spread(columns["std"] / 4, quarter, known, share, starts), std)
    no_length = np.isnan(columns["l2"])
    l2 = _root_of_squares(np.where(no_length, 0.0, columns["l2"]), starts)
    merged = {
        "mean": np.where(total > 0, mean, np.nan),
        "std": np.where(total > 0, std, np.nan),
        "l2": np.where(np.logical_and.reduceat(no_length, starts), np.nan, l2),
    }
    is_alone = np.bincount(group) == 1
    return {name: np.where(is_alone, columns[name][starts], values) for name, values in merged.items()}


def _spread(std: Array, offset: Array, known: Array, share: Array, starts: Array) -> Array:
    """The std of groups: of the stds within their rows, and of the rows' offsets from the group's mean."""
    return _root_of_squares(np.where(known, np.hypot(std, offset) * np.sqrt(share), 0.0), starts)


def _root_of_squares(values: Array, starts: Array) -> Array:
    found: Array = np.hypot.reduceat(np.abs(values), starts)
    return found


def _added(counts: Array, starts: Array) -> Array:
    """Sums, at most 2^63 - 1: a hostile dump may claim more."""
    sums: Array = np.add.reduceat(counts.astype(np.int64, copy=False), starts)
    sums[np.add.reduceat(counts.astype(np.float64), starts) >= _MAX_COUNT] = _MAX_COUNT
    return sums
