"""Merged statistics equal those of one pass over all elements."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tensortap.core.records import COUNTS, STATISTICS
from tensortap.importers.partial_summary import partial_summary
from tensortap.stats.merge import finite_elements, group_starts, merge_statistics
from tensortap.stats.summarize import summarize

VALUES = st.floats(-1e3, 1e3, width=32) | st.sampled_from([0.0, np.nan, np.inf, -np.inf])
GROUPS = st.lists(
    st.lists(arrays(np.float32, st.integers(0, 8), elements=VALUES), min_size=1, max_size=4),
    min_size=1,
    max_size=4,
)


def as_columns(summaries):
    counts = {name: np.array([getattr(s, name) for s in summaries]) for name in ("size", *COUNTS)}
    columns = counts | {name: np.array([getattr(s, name) for s in summaries]) for name in STATISTICS}
    columns["snapshots"] = np.ones(len(summaries), np.int64)
    columns["finite"] = finite_elements(columns, np.zeros(len(summaries), np.bool_))
    return columns


@given(GROUPS)
def test_a_merge_equals_one_pass(groups):
    columns = as_columns([summarize(part) for group in groups for part in group])
    starts = np.cumsum([0, *(len(group) for group in groups)])[:-1]
    merged = merge_statistics(columns, starts)
    expected = as_columns([summarize(np.concatenate(group)) for group in groups])
    for name in ("size", "finite", *COUNTS, "min", "max", "abs_max"):
        assert np.array_equal(merged[name], expected[name], equal_nan=True), name
    for name in ("mean", "std", "l2"):
        assert merged[name] == pytest.approx(expected[name], rel=1e-9, abs=1e-6, nan_ok=True), name
    assert merged["snapshots"].tolist() == [len(group) for group in groups]
    assert (merged["finite"] == merged["zero"] + merged["negative"] + merged["positive"]).all()


def test_huge_and_tiny_values_neither_overflow_nor_vanish():
    for scale in (1e300, 1e-300):
        parts = [np.array([1.0, 3.0]) * scale, np.array([5.0]) * scale]
        merged = merge_statistics(as_columns([summarize(part) for part in parts]), np.array([0]))
        assert merged["mean"][0] == pytest.approx(3 * scale)
        assert merged["std"][0] == pytest.approx(np.std([1, 3, 5]) * scale)
        assert merged["l2"][0] == pytest.approx(np.sqrt(35) * scale)


def test_groups_begin_where_the_code_changes():
    assert group_starts(np.array([3, 3, 5, 5, 5, 1])).tolist() == [0, 2, 5]
    assert group_starts(np.array([3, 3, 5, 5]), np.array([0, 1, 1, 1])).tolist() == [0, 1, 2]
    assert group_starts(np.array([])).tolist() == []


def test_a_snapshot_alone_keeps_its_statistics_and_unknown_counts_weigh_by_size():
    known = partial_summary("float32", (4,), 4, mean=0.1, std=0.3)  # neither signs nor zeros are known
    other = partial_summary("float32", (12,), 12, mean=0.5, std=0.0)
    length = partial_summary("float32", (2,), 2, l2=0.7)
    merged = merge_statistics(as_columns([length, known, other]), np.array([0, 1]))
    assert merged["l2"][0] == 0.7 and np.isnan(merged["mean"][0])
    assert merged["mean"][1] == pytest.approx(0.4) and np.isnan(merged["l2"][1])
    assert merged["std"][1] == pytest.approx(np.sqrt(0.25 * 0.3**2 + 0.25 * 0.3**2 + 0.75 * 0.1**2))


def test_the_finite_elements_of_text_are_none():
    columns = as_columns([summarize(np.array([b"a", b"b"], object)), summarize(np.ones(3))])
    assert finite_elements(columns, np.array([True, False])).tolist() == [0, 3]
