"""Histograms over steps: one set of edges, exact counts, merged visits."""

from __future__ import annotations

import numpy as np
import pytest

from tensortap.core.errors import NotFoundError, SelectionError
from tensortap.core.histogram import Histogram
from tensortap.core.records import Summary
from tensortap.dump.write.writer import DumpWriter
from tensortap.index.logdir_index import LogIndex
from tensortap.index.series.histograms import histograms, step_histograms


def test_all_rows_share_the_native_edges(run, graph_id):
    series = histograms(run, "dense/MatMul:0")
    assert (series.graph, series.approximate, series.thinned_from) == (graph_id, False, None)
    assert series.counts.shape == (6, len(series.edges) - 1)
    finite = 12 - series.nan - series.pos_inf - series.neg_inf
    assert series.counts.sum(axis=1).tolist() == finite.tolist() == [12, 12, 12, 10, 10, 10]
    assert series.step.tolist() == [0, 10, 20, 30, 40, 50]
    assert (series.edges[0] <= series.min.min()) and (series.max.max() <= series.edges[-1])
    assert series.counts[:, series.zero_bucket].tolist() == series.zero.tolist() == [0] * 6


def test_zeros_have_a_bucket_of_their_own(run):
    series = histograms(run, "dense/Relu", steps="0:1")
    assert series.counts[:, series.zero_bucket].tolist() == series.zero.tolist()
    assert series.zero.min() > 0


def test_linear_bins_are_marked(run):
    series = histograms(run, "dense/MatMul", scale="linear", bins=7)
    assert series.approximate
    assert len(series.edges) == 8
    assert (series.edges[0], series.edges[-1]) == (series.min.min(), series.max.max())
    assert series.counts.sum(axis=1) == pytest.approx([12, 12, 12, 10, 10, 10])
    cut = histograms(run, "dense/MatMul", scale="linear", bins=2, low=0, high=1e9)
    assert cut.edges.tolist() == [0, 5e8, 1e9]
    assert (cut.counts.sum(axis=1) < 12).all()


def test_a_constant_tensor_has_linear_bins_too(tmp_path):
    with DumpWriter(tmp_path) as writer:
        writer.log("constant", np.full(5, 3.0), step=0)
        writer.log("nothing", np.full(5, np.nan), step=0)
        writer.log("text", ["a"], step=0)
        writer.log("wide", np.array([-1.7e308, 1.7e308]), step=0)
    log = LogIndex(tmp_path)
    log.refresh()
    constant = histograms(log.runs[0], "constant", scale="linear", bins=3)
    assert constant.counts.sum() == 5
    assert constant.edges[0] < 3 < constant.edges[-1]
    for name in ("nothing", "text"):
        for scale in ("symlog", "linear"):
            assert histograms(log.runs[0], name, scale=scale).counts.sum() == 0
    wide = histograms(log.runs[0], "wide", scale="linear", bins=4)
    assert np.isfinite(wide.edges).all()
    assert wide.counts.sum() == pytest.approx(2)


def test_linear_bins_of_integers_have_equally_many_integers(tmp_path):
    limits = np.iinfo(np.int64)
    with DumpWriter(tmp_path) as writer:
        writer.log("classes", np.repeat(np.arange(10), 3), step=0)
        writer.log("classes", np.repeat(np.arange(10), 3), step=1)
        writer.log("ids", np.arange(100), step=0)
        writer.log("flags", np.array([True, False, False]), step=0)
        writer.log("same", np.full(5, 7), step=0)
        writer.log("wide", np.array([limits.min, 0, limits.max]), step=0)
    log = LogIndex(tmp_path)
    log.refresh()

    def linear(tensor, **more):
        return histograms(log.runs[0], tensor, scale="linear", **more)

    classes = linear("classes")
    assert classes.edges.tolist() == (np.arange(11) - 0.5).tolist()
    np.testing.assert_allclose(classes.counts, 3)
    ids = linear("ids", bins=60)
    assert np.diff(ids.edges).tolist() == [2] * 50
    np.testing.assert_allclose(ids.counts, 2)
    assert linear("flags").counts.tolist() == [[2, 1]]
    assert (linear("same").edges.tolist(), linear("same").counts.tolist()) == ([6.5, 7.5], [[5]])
    assert linear("wide", bins=4).counts.sum() == pytest.approx(3)
    assert linear("classes", low=0, high=4, bins=2).counts.sum() == pytest.approx(2 * 3 * 4)


def test_visits_are_merged_on_request(run):
    apart = histograms(run, "dense/Relu")
    merged = histograms(run, "dense/Relu", merge_visits=True)
    assert apart.visit.tolist() == [0, 1] * 6
    assert merged.step.tolist() == [0, 10, 20, 30, 40, 50]
    assert np.array_equal(merged.counts, apart.counts[::2] + apart.counts[1::2])
    assert np.array_equal(merged.nan, apart.nan[::2] * 2)
    assert np.array_equal(merged.max, np.maximum(apart.max[::2], apart.max[1::2]))


def test_rows_are_thinned_and_restricted(run):
    series = histograms(run, "dense/MatMul", limit=2)
    assert (series.step.tolist(), series.thinned_from) == ([0, 50], 6)
    assert histograms(run, "dense/MatMul", steps="10:30").step.tolist() == [10, 20]
    assert len(histograms(run, "dense/MatMul", steps="99:").step) == 0
    assert len(histograms(run, "dense/MatMul", steps="99:", merge_visits=True).step) == 0


@pytest.mark.parametrize(
    "options", [{"scale": "log"}, {"bins": 0}, {"bins": 5000}, {"low": 1, "high": 1}, {"low": float("nan")}]
)
def test_impossible_options_are_refused(run, options):
    with pytest.raises(SelectionError) as error:
        histograms(run, "dense/MatMul", **options)
    assert error.value.hint


def test_an_unknown_tensor_is_refused(run):
    with pytest.raises(NotFoundError):
        histograms(run, "dense/Nothing")


@pytest.mark.parametrize("low", [np.nan, -np.inf, 5.0])
def test_buckets_tell_the_range_where_the_summary_does_not(tmp_path, low):
    counted = Histogram(np.array([254, 256, 257], np.uint16), np.array([1, 2, 1], np.uint32))
    untold = Summary("float32", (4,), 4, 0, 0, 0, 0, 0, 4, 0, low, np.nan, 1.0, 1.0, 0.0, 1.0, counted)
    with DumpWriter(tmp_path, "run") as writer:
        writer.log_summary("x", untold, step=0)
    log = LogIndex(tmp_path)
    log.refresh()
    for scale in ("symlog", "linear"):
        found = histograms(log.runs[0], "x", scale=scale)
        assert np.isfinite(found.edges).all()
        assert found.counts.sum() == pytest.approx(4)


def small_histogram(folder, values, bins=24):
    """Range and counts of the small histogram of one tensor."""
    with DumpWriter(folder) as writer:
        writer.log("x", values, step=0)
    log = LogIndex(folder)
    log.refresh()
    found = step_histograms(log.runs[0], "-", 0, [(0, 0)], bins=bins)
    return found.low[0], found.high[0], found.counts[0]


def test_the_commonest_label_is_the_highest_bar(tmp_path):
    low, high, counts = small_histogram(tmp_path, np.repeat(np.arange(3), [8, 15, 9]))
    assert (low, high) == (0, 2)
    assert counts == pytest.approx(np.repeat([1, 15 / 8, 9 / 8], 8))


def test_bars_of_a_sparse_tensor_hide_none_of_its_few_values(tmp_path):
    live = np.linspace(0.02, 1, 66)
    low, high, counts = small_histogram(tmp_path, np.concatenate((np.zeros(3200), live)).astype(np.float32))
    assert (low, high) == (0, 1)
    assert counts.sum() == pytest.approx(3266)
    assert (counts > 0).all()


def test_bars_leave_out_few_outliers(tmp_path):
    values = np.append(np.linspace(-1, 1, 5000), 1e6)
    _, high, counts = small_histogram(tmp_path, values)
    assert high < 1e6
    assert counts.sum() == pytest.approx(5000)
