"""Buckets: edges, order, merging."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tensortap.core.histogram import Histogram, bucket_edges, value_order
from tensortap.stats.summarize import summarize

USED = [i for i in range(1024) if i & 511 != 511]  # 511 and 1023 would be NaN's


def test_buckets_join_without_gap_or_overlap() -> None:
    ids = np.array(USED)
    ascending = ids[np.argsort(value_order(ids))]
    left, right = bucket_edges(ascending)
    assert (left < right).all()
    negative = left < 0
    np.testing.assert_array_equal(left[1:], right[:-1])
    assert (left[0], right[-1]) == (-math.inf, math.inf)
    assert negative.sum() == len(ids) // 2


def test_edges_are_the_ones_of_the_format() -> None:
    left, right = bucket_edges([254, 255, 256, 0, 1, 2, 509, 510])
    assert left.tolist()[:3] == [1.0, 1.5, 2.0]
    assert right.tolist()[:3] == [1.5, 2.0, 3.0]
    assert left.tolist()[3:6] == [0.0, 2.0**-127, 2.0**-126]
    assert (right[6], left[7], right[7]) == (2.0**128, 2.0**128, math.inf)
    mirrored = bucket_edges([254 + 512])
    assert (mirrored[0][0], mirrored[1][0]) == (-1.5, -1.0)


def test_edges_keep_the_shape_of_the_ids() -> None:
    left, right = bucket_edges(np.array([[254, 255], [0, 512]]))
    assert left.shape == right.shape == (2, 2)


@given(st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False), min_size=1, max_size=50))
def test_every_value_lies_in_its_bucket(values: list[float]) -> None:
    array = np.array(values, np.float32)
    for value in array[array != 0].tolist():
        ((left, right, count),) = summarize(np.float32(value)).histogram.buckets()
        assert count == 1
        assert left <= value < right if value > 0 else left < value <= right


@given(
    st.lists(st.floats(width=32), max_size=40),
    st.lists(st.floats(width=32), max_size=40),
)
def test_merging_equals_measuring_both(one: list[float], other: list[float]) -> None:
    a, b = np.array(one, np.float32), np.array(other, np.float64)
    together = np.concatenate([a.astype(np.float64), b])
    merged = summarize(a).histogram.merge(summarize(b).histogram)
    assert merged == summarize(together).histogram
    assert hash(merged) == hash(summarize(together).histogram)


def test_buckets_ascend_and_leave_zero_out() -> None:
    found = summarize(np.array([-3.0, 0.0, 0.7, -1.0, 100.0], np.float32)).histogram.buckets()
    assert found == [(-4.0, -3.0, 1), (-1.5, -1.0, 1), (0.5, 0.75, 1), (96.0, 128.0, 1)]


def test_empty_histograms() -> None:
    assert Histogram.empty().buckets() == []
    assert Histogram.empty().total == 0
    assert Histogram.empty().merge(Histogram.empty()) == Histogram.empty()
    assert Histogram.empty() != "something else"
