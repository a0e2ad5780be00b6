"""Histograms of several snapshots on common edges: the native buckets, or linear bins.

A *dense* histogram has a column for each possible bucket, ascending by value, exact zeros in the middle.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tensortap.core.dtypes import Array, Floats, Ints
from tensortap.core.histogram import bucket_edges

HALF = 512  # bucket ids of one sign
ZERO = HALF  # the dense column of exact zeros
DENSE = 2 * HALF + 1
_TINY = 5e-324  # the smallest float64 above zero: only zero is within (-_TINY, _TINY)


class Binned(NamedTuple):
    """Counts [rows, n] on n + 1 ascending edges; `zero_bucket`: the column with the exact zeros, if any."""

    edges: Floats
    counts: Array
    zero_bucket: int | None


def dense_column(ids: Array) -> Ints:
    """Bucket ids -> dense columns."""
    wide = ids.astype(np.int64)
    return np.where(wide >= HALF, 2 * HALF - 1 - wide, ZERO + 1 + wide)


def native_bins(dense: Ints, low: float, high: float) -> Binned:
    """The native buckets between the smallest and largest used; zeros in a separate bucket.

    Magnitudes below the smallest used one hold nothing but zeros: the zero bucket spans them all.

    Args:
        dense: int64 [rows, DENSE].
        low, high: smallest and largest finite value of all rows; they close a bucket that has no end.
    """
    used = np.asarray(dense.any(axis=0))
    negative = np.flatnonzero(used[:ZERO][::-1])
    positive = np.flatnonzero(used[ZERO + 1 :])
    if not len(negative) and not len(positive):
        return _zeros_only(dense, bool(used[ZERO]))
    smallest = min(int(side[0]) for side in (negative, positive) if len(side))
    below = np.arange(smallest, negative[-1] + 1) if len(negative) else np.zeros(0, np.int64)
    above = np.arange(smallest, positive[-1] + 1) if len(positive) else np.zeros(0, np.int64)
    left = -_outer_edges(below, -low)[::-1]
    right = _outer_edges(above, high)
    with_zero = bool(used[ZERO]) or bool(len(below) and len(above))
    one_sided = with_zero and not (len(below) and len(above))
    edges = np.concatenate((left, [0.0], right) if one_sided else (left, right))
    columns = np.concatenate((ZERO - 1 - below[::-1], [ZERO] if with_zero else [], ZERO + 1 + above)).astype(
        np.int64
    )
    return Binned(edges, dense[:, columns], len(below) if with_zero else None)


def linear_bins(dense: Ints, lows: Floats, highs: Floats, edges: Floats, *, integers: bool = False) -> Binned:
    """Spreads native buckets evenly over other bins: an approximation, exact in each row's range and zeros.

    Args:
        dense: int64 [rows, DENSE].
        lows, highs: each row's smallest and largest finite value (NaN if none); buckets are cut to them.
        edges: ascending; elements outside are skipped, the last bin includes its right edge.
        integers: whether all elements are; each then fills a cell of width 1 around its value, because the
            buckets of 1 and of 4 and 5 would have different widths.
    """
    counts = np.zeros((len(dense), len(edges) - 1))
    left, right = dense_edges()
    for row, (hist, low, high) in enumerate(zip(dense, lows, highs, strict=True)):
        used = np.flatnonzero(hist)
        if integers:
            ends = _cells(left[used], right[used], low, high)
        else:
            used = used[used != ZERO]
            ends = np.clip(left[used], low, high), np.clip(right[used], low, high)
        if len(used):
            counts[row] = _spread(*ends, hist[used], edges)
    inside = edges[0] <= 0.0 <= edges[-1]
    zero = min(int(np.searchsorted(edges, 0.0, "right")) - 1, len(edges) - 2) if inside else None
    if zero is not None and not integers:
        counts[:, zero] += dense[:, ZERO]
    return Binned(edges, counts, zero)


def known_ends(dense: Ints, lows: Floats, highs: Floats) -> tuple[Floats, Floats]:
    """`lows` and `highs`; if they do not cover a row's counts, the ends of its buckets."""
    lows, highs = lows.astype(np.float64), highs.astype(np.float64)
    left, right = (np.nan_to_num(edges) for edges in dense_edges())
    for row in np.flatnonzero(~(np.isfinite(lows) & np.isfinite(highs) & (lows <= highs))):
        used = np.flatnonzero(dense[row])
        lows[row], highs[row] = (left[used[0]], right[used[-1]]) if len(used) else (np.nan, np.nan)
    return lows, highs


def dense_edges() -> tuple[Floats, Floats]:
    """Left and right edge of each dense column."""
    left, right = bucket_edges(np.arange(HALF, dtype=np.uint16))
    zero = np.zeros(1)
    return np.concatenate((-right[::-1], zero, left)), np.concatenate((-left[::-1], zero, right))


def _cells(left: Floats, right: Floats, low: float, high: float) -> tuple[Floats, Floats]:
    """The ends of the cells of all integers in each bucket; a positive one lacks its right edge."""
    first = np.where(left < 0, np.floor(left) + 1, np.ceil(left))
    last = np.where(left < 0, np.floor(right), np.ceil(right) - 1)
    return np.clip(first, low, high) - 0.5, np.clip(np.maximum(first, last), low, high) + 0.5


def _spread(left: Floats, right: Floats, counts: Ints, edges: Floats) -> Floats:
    # Slopes between denormals are beyond float64, and so are distances of the largest: near one, none is.
    exponent = -int(np.frexp(np.abs(edges).max())[1])
    left, right, edges = np.ldexp(left, exponent), np.ldexp(right, exponent), np.ldexp(edges, exponent)
    points = left == right
    positions = np.column_stack((left[~points], right[~points])).ravel()
    steps = np.column_stack((np.zeros(int((~points).sum())), counts[~points])).ravel()
    spread = (
        np.diff(np.interp(edges, positions, np.cumsum(steps))) if len(positions) else np.zeros(len(edges) - 1)
    )
    at = left[points]
    inside = (at >= edges[0]) & (at <= edges[-1])
    bins = np.minimum(np.searchsorted(edges, at[inside], "right") - 1, len(edges) - 2)
    return spread + np.bincount(bins, counts[points][inside], len(edges) - 1)


def _outer_edges(magnitudes: Ints, largest: float) -> Floats:
    """Edges around buckets of ascending magnitude, finite ones."""
    if not len(magnitudes):
        return np.zeros(0)
    left, right = bucket_edges(magnitudes.astype(np.uint16))
    last = right[-1] if np.isfinite(right[-1]) else max(largest, float(np.nextafter(left[-1], np.inf)))
    return np.concatenate(([left[0] or _TINY], left[1:], [last]))


def _zeros_only(dense: Ints, zeros: bool) -> Binned:
    if not zeros:
        return Binned(np.zeros(1), dense[:, :0], None)
    return Binned(np.array([-1.0, 1.0]), dense[:, [ZERO]], 0)
