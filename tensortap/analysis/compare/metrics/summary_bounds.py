"""Bounds on the distance of two tensors, from their summaries."""

from __future__ import annotations

import math

import numpy as np

from tensortap.core.dtypes import Array
from tensortap.core.histogram import Histogram, bucket_edges, value_order
from tensortap.index.run_index import RunIndex
from tensortap.index.snapshot import Snapshot

from .distances import NAN, Metrics, decibel

_NONFINITE = ("nan", "pos_inf", "neg_inf")
SUMMARY_COLUMNS = (*_NONFINITE, "zero", "negative", "positive", "min", "max", "mean", "l2")
_SMOOTHING = 0.5  # counts added to each used bucket (Jeffreys' prior): an empty one would make KL infinite


def equal_summaries(a: RunIndex, b: RunIndex, rows_a: Array, rows_b: Array) -> Array:
    """bool[pairs]: whether shapes, counts, extrema, means and norms are equal. Histograms are not read."""
    equal = equal_shapes(a, b, rows_a, rows_b)
    for name in SUMMARY_COLUMNS:
        left, right = a.catalog.column(name, rows_a), b.catalog.column(name, rows_b)
        equal &= (left == right) | ((left != left) & (right != right))  # NaN: no finite element
    return equal


def equal_shapes(a: RunIndex, b: RunIndex, rows_a: Array, rows_b: Array) -> Array:
    """bool[pairs]."""
    codes = {shape: code for code, shape in enumerate(b.catalog.shapes.values)}
    known = np.array([codes.get(shape, -1) for shape in a.catalog.shapes.values] or [-1], np.int64)
    return np.asarray(known[a.catalog.column("shape", rows_a)] == b.catalog.column("shape", rows_b))


class Bounds:
    """Lower bounds of the distances between tensors of equal shape, as columns: float64[pairs].

    |max a - max b|, |min a - min b| and |mean a - mean b| are at most max |a - b|; | ||a|| - ||b|| | is at
    most ||a - b|| (reverse triangle inequality), and ||a - b|| / sqrt(n) at most max |a - b|. All of it over
    the finite elements: where as many are NaN, inf and -inf on both sides, either they are the same elements,
    or an element is finite on one side only, which is further apart than any bound.

    Attributes:
        scale: largest magnitude. max_abs, l2, rmse, relative: see `Metrics`; NaN where nothing is proved.
        nonfinite_a, nonfinite_b: int64, a lower bound of the count.
    """

    def __init__(self, a: RunIndex, b: RunIndex, rows_a: Array, rows_b: Array) -> None:
        def both(name: str) -> tuple[Array, Array]:
            columns = a.catalog.column(name, rows_a), b.catalog.column(name, rows_b)
            return columns[0].astype(np.float64), columns[1].astype(np.float64)

        with np.errstate(all="ignore"):
            self._count([both(name) for name in _NONFINITE])
            size, _ = both("size")
            self.scale = _finite(np.fmax(*both("abs_max")))
            self.l2 = _finite(np.abs(np.subtract(*both("l2"))))
            apart = [_finite(np.abs(np.subtract(*both(name)))) for name in ("mean", "min", "max")]
            self.rmse = np.fmax(self.l2 / np.sqrt(size - self._bad), apart[0])
            self.max_abs = np.fmax.reduce([*apart, self.rmse])
            self._signal = both("l2")[0]
        for column in (self.l2, self.rmse, self.max_abs):
            column[(self.nonfinite_a > 0) | (self.nonfinite_b > 0)] = NAN

    def _count(self, counts: list[tuple[Array, Array]]) -> None:
        bad_a, bad_b = (sum(side) for side in zip(*counts, strict=True))
        self._bad = np.asarray(bad_a)
        self.nonfinite_a = np.maximum(bad_a - np.asarray(bad_b), 0)
        self.nonfinite_b = np.asarray(sum(np.maximum(of_b - of_a, 0) for of_a, of_b in counts))

    @property
    def relative(self) -> Array:
        """`max_abs` as a part of the scale."""
        with np.errstate(all="ignore"):
            return np.asarray(np.where(self.scale > 0, self.max_abs / self.scale, self.max_abs * 0.0))

    def metrics(self, at: int) -> Metrics:
        """The metrics of one pair."""
        l2, signal = float(self.l2[at]), float(self._signal[at])
        return Metrics(
            scale=float(self.scale[at]),
            max_abs=float(self.max_abs[at]),
            relative=float(self.relative[at]),
            rmse=float(self.rmse[at]),
            l2=l2,
            sqnr=decibel(signal, l2) if l2 > 0 and math.isfinite(signal) else NAN,
            nonfinite_a=int(self.nonfinite_a[at]),
            nonfinite_b=int(self.nonfinite_b[at]),
        )


def _finite(values: Array) -> Array:
    values[~np.isfinite(values)] = NAN
    return values


def kl_divergence(a: Snapshot, b: Snapshot, of_a: Histogram, of_b: Histogram) -> float:
    """KL(A || B) of two histograms in nats: the native buckets, exact zeros, NaN and both infinities."""
    used = np.union1d(of_a.bucket_id, of_b.bucket_id)
    counts = np.stack([_counts(a, of_a, used), _counts(b, of_b, used)])
    counts = counts[:, counts.sum(axis=0) > 0]
    if not counts.size or np.array_equal(counts[0], counts[1]):
        return 0.0
    p, q = (row / row.sum() for row in counts + _SMOOTHING)
    return float(np.sum(p * np.log(p / q)))


def _counts(snapshot: Snapshot, histogram: Histogram, used: Array) -> Array:
    counts = np.zeros(len(used) + 4, np.float64)
    counts[np.searchsorted(used, histogram.bucket_id)] = histogram.bucket_count
    counts[len(used) :] = (snapshot.zero, snapshot.nan, snapshot.pos_inf, snapshot.neg_inf)
    return counts


def distance_bound(a: Snapshot, b: Snapshot, of_a: Histogram, of_b: Histogram) -> float:
    """The least max |a - b| that two histograms allow; NaN if they count unequally many elements.

    However the elements are paired, the largest distance is at least that of pairing them in order (the
    infinity-Wasserstein distance of the two samples), and each is within its bucket.
    """
    (ends_a, low_a, high_a), (ends_b, low_b, high_b) = _ranked(of_a, a.zero), _ranked(of_b, b.zero)
    if not len(ends_a) or not len(ends_b) or ends_a[-1] != ends_b[-1]:
        return NAN
    ranks = np.union1d(ends_a, ends_b)
    i, j = np.searchsorted(ends_a, ranks), np.searchsorted(ends_b, ranks)
    return float(np.maximum(low_b[j] - high_a[i], low_a[i] - high_b[j]).max(initial=0.0))


def _ranked(histogram: Histogram, zeros: int) -> tuple[Array, Array, Array]:
    """Of each bucket by ascending value: how many elements are in it or below, its edges; zeros are one."""
    order = np.argsort(value_order(histogram.bucket_id))
    left, right = bucket_edges(histogram.bucket_id[order])
    counts, at = histogram.bucket_count[order], int(np.searchsorted(right, 0.0, "right"))
    if zeros:
        left, right = np.insert(left, at, 0.0), np.insert(right, at, 0.0)
        counts = np.insert(counts, at, zeros)
    return np.cumsum(counts), left, right
