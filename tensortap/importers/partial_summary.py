"""Partially known summaries, and TensorBoard's histograms in the dump's buckets."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from tensortap.core.dtypes import Array, Floats, dtype_name
from tensortap.core.histogram import Histogram, bucket_edges
from tensortap.core.records import Summary

from .errors import RefusedError

_IDS = np.concatenate([np.arange(511), np.arange(512, 1023)])  # all ids that occur
_LEFT, _RIGHT = bucket_edges(_IDS)
_TABLE = 1024


def measured_numbers(array: Array, what: str) -> Floats:
    """Numbers that a debugger measured of a tensor, flat.

    Raises:
        RefusedError: it is text or complex, which no measurement is; the sentence calls it `what`.
    """
    if array.dtype.kind in "OSUc":
        raise RefusedError(f"{what} has {dtype_name(array.dtype)} instead of real numbers.")
    return array.astype(np.float64).reshape(-1)


def partial_summary(dtype: str, shape: tuple[int, ...], size: int, **known: Any) -> Summary:
    """A summary of the known statistics; unknown counts are 0, so they do not add up to `size`.

    Statistics that are unknown are NaN, the histogram is empty.
    """
    fields: dict[str, Any] = {
        **dict.fromkeys(("nan", "pos_inf", "neg_inf", "zero", "negative", "positive", "subnormal"), 0),
        **dict.fromkeys(("min", "max", "mean", "std", "l2", "abs_max"), math.nan),
        "histogram": Histogram.empty(),
    }
    return Summary(dtype, shape, size, **(fields | known))


def spread_histogram(left: Floats, right: Floats, counts: Floats) -> tuple[Histogram, int]:
    """(histogram, exact zeros) of foreign buckets: each count is spread evenly over its bucket's width.

    A bucket without width counts at its value. Counts are rounded so that each bucket's total is exact.

    Args:
        left, right: finite edges, left <= right.
        counts: not negative, their sum below 2^53.
    """
    table = np.zeros(_TABLE, np.int64)
    zeros = 0
    for low, high, count in zip(left.tolist(), right.tolist(), np.rint(counts).astype(np.int64), strict=True):
        if not count:
            continue
        if low == high == 0:
            zeros += int(count)
        elif low == high:
            inside = (low > _LEFT) & (low <= _RIGHT) if low < 0 else (low >= _LEFT) & (low < _RIGHT)
            table[_IDS[inside]] += count
        else:
            table[_IDS] += _shares(low, high, int(count))
    return Histogram.from_table(table), zeros


def _shares(low: float, high: float, count: int) -> npt.NDArray[np.int64]:
    """How many of `count` evenly spread elements fall into each bucket; largest remainders round up."""
    scale = max(abs(low), abs(high))  # divided out first: widths of huge buckets overflow
    with np.errstate(over="ignore"):  # of the buckets far outside, which do not count
        overlap = np.minimum(_RIGHT, high) / scale - np.maximum(_LEFT, low) / scale
    exact = count * np.clip(overlap, 0, None) / (high / scale - low / scale)
    whole: npt.NDArray[np.int64] = np.floor(exact).astype(np.int64)
    missing = count - int(whole.sum())
    if missing > 0:
        whole[np.argsort(whole - exact, kind="stable")[:missing]] += 1
    return whole


def histogram_summary(left: Floats, right: Floats, counts: Floats, **exact: float) -> Summary:
    """A summary from foreign buckets. `exact` are the statistics that are known.

    Extremes are the outer edges of the buckets that hold anything, if they are unknown.
    """
    filled = counts > 0
    histogram, zero = spread_histogram(left, right, counts)
    negative = int(histogram.bucket_count[histogram.bucket_id >= 512].sum())
    size = zero + histogram.total
    known: dict[str, Any] = {}
    if filled.any():
        known = {"min": float(left[filled].min()), "max": float(right[filled].max())}
    known |= exact
    if known:
        known["abs_max"] = max(abs(known["min"]), abs(known["max"]))
    counted = {"zero": zero, "negative": negative, "positive": histogram.total - negative}
    return partial_summary("float64", (size,), size, histogram=histogram, **counted, **known)
