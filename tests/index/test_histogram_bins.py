"""Histograms on common edges: exact on native buckets, marked and sum-preserving on linear ones."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tensortap.index.series.histogram_bins import (
    DENSE,
    ZERO,
    dense_column,
    dense_edges,
    linear_bins,
    native_bins,
)
from tensortap.index.series.statistic_values import thin
from tensortap.stats.summarize import summarize

MAGNITUDES = st.floats(1e-40, 1e38) | st.floats(1e-3, 1e3) | st.just(0.0)
VALUES = MAGNITUDES | MAGNITUDES.map(lambda value: -value)
ROWS = st.lists(arrays(np.float64, st.integers(0, 12), elements=VALUES), min_size=1, max_size=4)


def dense_rows(rows):
    dense = np.zeros((len(rows), DENSE), np.int64)
    for i, summary in enumerate(map(summarize, rows)):
        dense[i, ZERO] = summary.zero
        dense[i, dense_column(summary.histogram.bucket_id)] += summary.histogram.bucket_count
    return dense


def test_linear_bins_count_denormals_and_the_largest_numbers():
    for size in (5e-324, 1e-310, 1e308):
        rows = [np.array([-1.0, -0.5, 0.25, 1.0]) * size, np.array([0.0, 0.75]) * size]
        lows, highs = np.array([row.min() for row in rows]), np.array([row.max() for row in rows])
        edges = np.array([-1.5, -0.25, 0.1, 0.5, 1.5]) * size
        edges = np.maximum.accumulate(edges)
        counts = linear_bins(dense_rows(rows), lows, highs, edges).counts
        assert np.isfinite(counts).all()
        np.testing.assert_allclose(counts.sum(axis=1), [4, 2])


def finite_range(rows):
    values = np.concatenate(rows)
    return (float(values.min()), float(values.max())) if len(values) else (0.0, 0.0)


@given(ROWS)
def test_native_bins_hold_every_element_in_its_bucket(rows):
    binned = native_bins(dense_rows(rows), *finite_range(rows))
    assert (np.diff(binned.edges) > 0).all()
    assert binned.counts.shape == (len(rows), len(binned.edges) - 1)
    for values, counts in zip(rows, binned.counts, strict=True):
        assert counts.sum() == len(values)
        for i, (left, right) in enumerate(zip(binned.edges[:-1], binned.edges[1:], strict=True)):
            inside = values[(values >= left) & (values <= right)]
            assert counts[i] <= len(inside)
            if i == binned.zero_bucket:
                assert counts[i] == (values == 0).sum()
                assert (values[(values > left) & (values < right)] == 0).all()


def test_native_bins_leave_out_what_is_empty_around_zero():
    binned = native_bins(dense_rows([np.array([-2.5, -1.0, 0.0, 0.0, 1.0, 1.75])]), -2.5, 1.75)
    assert binned.edges.tolist() == [-3.0, -2.0, -1.5, -1.0, 1.0, 1.5, 2.0]
    assert binned.counts.tolist() == [[1, 0, 1, 2, 1, 1]]
    assert binned.zero_bucket == 3


def test_native_bins_of_one_sign():
    relu = native_bins(dense_rows([np.array([0.0, 1.0])]), 0, 1)
    assert (relu.edges.tolist(), relu.counts.tolist(), relu.zero_bucket) == ([0.0, 1.0, 1.5], [[1, 1]], 0)
    negative = native_bins(dense_rows([np.array([0.0, -1.0])]), -1, 0)
    assert (negative.edges.tolist(), negative.counts.tolist(), negative.zero_bucket) == (
        [-1.5, -1.0, 0.0],
        [[1, 1]],
        1,
    )
    positive = native_bins(dense_rows([np.array([1.0])]), 1, 1)
    assert (positive.edges.tolist(), positive.zero_bucket) == ([1.0, 1.5], None)


def test_native_bins_of_nothing_and_of_zeros():
    nothing = native_bins(dense_rows([np.array([])]), 0, 0)
    assert (nothing.counts.shape, nothing.zero_bucket, len(nothing.edges)) == ((1, 0), None, 1)
    zeros = native_bins(dense_rows([np.zeros(5)]), 0, 0)
    assert (zeros.counts.tolist(), zeros.zero_bucket, len(zeros.edges)) == ([[5]], 0, 2)


def test_the_outermost_edge_is_finite():
    binned = native_bins(dense_rows([np.array([1e300, -1e308])]), -1e308, 1e300)
    assert (binned.edges[0], binned.edges[-1]) == (-1e308, 1e300)
    assert binned.counts.sum() == 2


@given(ROWS, st.integers(1, 40))
def test_linear_bins_lose_nothing(rows, bins):
    low, high = finite_range(rows)
    edges = np.linspace(low, high, bins + 1) if low < high else np.array([low - 1, high + 1])
    lows = np.array([row.min() if len(row) else np.nan for row in rows])
    highs = np.array([row.max() if len(row) else np.nan for row in rows])
    binned = linear_bins(dense_rows(rows), lows, highs, edges)
    np.testing.assert_allclose(binned.counts.sum(axis=1), [len(row) for row in rows], rtol=1e-9)
    assert (binned.counts >= -1e-9).all()


def test_linear_bins_spread_a_bucket_evenly_within_the_range():
    dense = dense_rows([np.array([1.0, 1.1, 1.2, 1.3, 0.0])])  # one bucket, [1, 1.5), and a zero
    binned = linear_bins(dense, np.array([0.0]), np.array([1.3]), np.array([-1.0, 0.0, 1.0, 1.15, 1.3]))
    assert np.allclose(binned.counts, [[0, 1, 2, 2]])
    assert binned.zero_bucket == 1


def test_integers_fill_cells_of_equal_width():
    labels = np.repeat(np.arange(-6, 7), np.arange(3, 16))
    binned = linear_bins(
        dense_rows([labels.astype(np.int64)]),
        np.array([-6.0]),
        np.array([6.0]),
        np.arange(-6.5, 7),
        integers=True,
    )
    # -6 is cut from the bucket of -7 and -6; -5 and -4 share one, as do 4 and 5
    assert np.allclose(binned.counts, [[3, 4.5, 4.5, 6, 7, 8, 9, 10, 11, 12, 13.5, 13.5, 15]])


def test_dense_columns_ascend():
    left, right = dense_edges()
    assert (left[1:] >= left[:-1]).all()
    assert (left <= right).all()
    assert dense_column(np.array([0, 511, 512, 1023], np.uint16)).tolist() == [513, 1024, 511, 0]


def test_thinning_keeps_the_ends():
    assert thin(5, None).tolist() == [0, 1, 2, 3, 4]
    assert thin(100, 3).tolist() == [0, 50, 99]
    assert thin(100, 1).tolist() == [99]
    assert thin(100, 0).tolist() == []
    assert len(set(thin(1000, 999).tolist())) == 999
