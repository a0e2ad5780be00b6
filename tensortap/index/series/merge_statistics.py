"""Exact merges of the statistics of several snapshots: visits of one step, shards on several workers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tensortap.core.dtypes import Array, Floats
from tensortap.core.records import COUNTS

Columns = Mapping[str, Array]


def group_starts(codes: Array) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Where each run of equal codes begins in a sorted array."""
    if not len(codes):
        return np.zeros(0, np.int64)
    return np.concatenate(([0], np.flatnonzero(codes[1:] != codes[:-1]) + 1))


def merge_statistics(columns: Columns, starts: Array) -> dict[str, Array]:
    """Adds up groups of rows; `starts` are the groups' first rows.

    Args:
        columns: `size`, the counts (integers) and the statistics (float64) of the rows.

    Returns:
        The same columns, one row a group: what one pass over all elements of a group gives, up to rounding.
    """
    merged: dict[str, Array] = {
        name: np.add.reduceat(_int64(columns[name]), starts) for name in ("size", *COUNTS)
    }
    if len(starts) == len(columns["size"]):
        return merged | {name: columns[name] for name in ("min", "max", "mean", "std", "l2", "abs_max")}
    for name, reduce in (("min", np.fmin), ("max", np.fmax), ("abs_max", np.fmax)):
        merged[name] = reduce.reduceat(columns[name], starts)
    merged["l2"] = _root_sum_squares(columns["l2"], starts)
    return merged | _pooled(columns, starts)


def finite_elements(columns: Columns) -> Array:
    """How many elements of each row are finite."""
    total: Array = _int64(columns["zero"]) + _int64(columns["negative"]) + _int64(columns["positive"])
    return total


def _pooled(columns: Columns, starts: Array) -> dict[str, Array]:
    """Mean and population standard deviation, weighted by finite elements."""
    finite = finite_elements(columns).astype(np.float64)
    lengths = np.diff(np.append(starts, len(finite)))
    total = np.add.reduceat(finite, starts)
    with np.errstate(invalid="ignore", divide="ignore"):
        weights = finite / np.repeat(total, lengths)
    used = finite > 0
    means = np.where(used, columns["mean"], 0.0)
    weights = np.where(used, weights, 0.0)
    mean = np.add.reduceat(weights * means, starts)
    off_mean = np.where(used, means - np.repeat(mean, lengths), 0.0)
    spread = np.hypot(np.where(used, columns["std"], 0.0), off_mean)
    std = _root_sum_squares(np.sqrt(weights) * spread, starts)
    empty = total == 0
    return {"mean": np.where(empty, np.nan, mean), "std": np.where(empty, np.nan, std)}


def _root_sum_squares(values: Array, starts: Array) -> Floats:
    """sqrt(sum of squares) of each group without overflow; NaN (no finite element) counts as nothing."""
    largest = np.fmax.reduceat(np.abs(values), starts)
    lengths = np.diff(np.append(starts, len(values)))
    scale = np.repeat(np.where((largest > 0) & np.isfinite(largest), largest, 1.0), lengths)
    with np.errstate(over="ignore"):
        squares = np.where(np.isnan(values), 0.0, (values / scale) ** 2)
        root = scale[starts] * np.sqrt(np.add.reduceat(squares, starts))
    return np.where(np.isnan(largest), np.nan, root)


def _int64(values: Array) -> np.ndarray[Any, np.dtype[np.int64]]:
    return values.astype(np.int64, copy=False)
