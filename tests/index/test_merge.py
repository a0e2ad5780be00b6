"""Merged statistics equal those of one pass over all elements."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tensortap.core.records import COUNTS, STATISTICS
from tensortap.index.series.step_statistics import finite_elements, group_starts, merge_statistics
from tensortap.stats.summarize import summarize

VALUES = st.floats(-1e3, 1e3, width=32) | st.sampled_from([0.0, np.nan, np.inf, -np.inf])
GROUPS = st.lists(
    st.lists(arrays(np.float32, st.integers(0, 8), elements=VALUES), min_size=1, max_size=4),
    min_size=1,
    max_size=4,
)


def as_columns(summaries):
    counts = {name: np.array([getattr(s, name) for s in summaries]) for name in ("size", *COUNTS)}
    return counts | {name: np.array([getattr(s, name) for s in summaries], np.float64) for name in STATISTICS}


@given(GROUPS)
def test_a_merge_equals_one_pass(groups):
    columns = as_columns([summarize(part) for group in groups for part in group])
    starts = np.cumsum([0, *(len(group) for group in groups)])[:-1]
    merged = merge_statistics(columns, starts)
    expected = as_columns([summarize(np.concatenate(group)) for group in groups])
    for name in ("size", *COUNTS, "min", "max", "abs_max"):
        assert np.array_equal(merged[name], expected[name], equal_nan=True), name
    for name in ("mean", "std", "l2"):
        assert merged[name] == pytest.approx(expected[name], rel=1e-9, abs=1e-6, nan_ok=True), name
    assert (
        finite_elements(columns).sum()
        == (expected["zero"] + expected["negative"] + expected["positive"]).sum()
    )


def test_huge_and_tiny_values_neither_overflow_nor_vanish():
    for scale in (1e300, 1e-300):
        parts = [np.array([1.0, 3.0]) * scale, np.array([5.0]) * scale]
        merged = merge_statistics(as_columns([summarize(part) for part in parts]), np.array([0]))
        assert merged["mean"][0] == pytest.approx(3 * scale)
        assert merged["std"][0] == pytest.approx(np.std([1, 3, 5]) * scale)
        assert merged["l2"][0] == pytest.approx(np.sqrt(35) * scale)


def test_groups_begin_where_the_code_changes():
    assert group_starts(np.array([3, 3, 5, 5, 5, 1])).tolist() == [0, 2, 5]
    assert group_starts(np.array([])).tolist() == []
