"""Statistics of one tensor over steps, and of all tensors at a step."""

from __future__ import annotations

import numpy as np
import pytest

from tensortap.core.errors import NotFoundError, SelectionError
from tensortap.dump.write.writer import DumpWriter
from tensortap.index.logdir_index import LogIndex
from tensortap.index.series.histograms import histograms
from tensortap.index.series.history import history
from tensortap.index.series.step_statistics import step_statistics
from tensortap.stats.summarize import summarize


def test_a_row_a_snapshot_in_order_of_step_and_visit(run, graph_id):
    found = history(run, "dense/Relu:0")
    assert (found.tensor, found.graph, found.thinned_from) == ("dense/Relu:0", graph_id, None)
    assert found.columns["step"].tolist() == [step for step in range(0, 60, 10) for _ in range(2)]
    assert found.columns["visit"].tolist() == [0, 1] * 6
    assert found.columns["time"].tolist() == [1000.0 + step for step in found.columns["step"]]
    assert found.columns["shape"] == [(3, 4)] * 12
    assert found.columns["nan"].tolist() == [0] * 6 + [1] * 6
    assert not found.columns["kept"].any()
    assert np.array_equal(found.columns["max"][1::2], found.columns["max"][::2] * 2)


def test_one_visit_of_each_step(run):
    alone = history(run, "dense/Relu:0", visit=1)
    assert alone.columns["step"].tolist() == list(range(0, 60, 10))
    assert set(alone.columns["visit"].tolist()) == {1}
    assert len(history(run, "dense/Relu:0", visit=7).columns["step"]) == 0


def test_the_slot_may_be_skipped_and_steps_restricted(run):
    assert history(run, "dense/Relu", steps="20:40").columns["step"].tolist() == [20, 20, 30, 30]
    assert history(run, "dense/Relu", steps=50).columns["visit"].tolist() == [0, 1]
    assert len(history(run, "dense/Relu", steps="60:").columns["step"]) == 0


def test_all_graphs_that_captured_a_tensor_are_in_its_history(tmp_path):
    # As when one tap is used for fit and evaluate: both graphs name a layer's output alike.
    with DumpWriter(tmp_path, run="two") as writer:
        for step in range(6):
            writer.log("dense/Relu:0", np.full(3, step), step=step, graph="train" if step < 4 else "test")
    log = LogIndex(tmp_path)
    log.refresh()
    run = log.runs[0]
    found = history(run, "dense/Relu:0")
    assert found.columns["step"].tolist() == [0, 1, 2, 3, 4, 5]
    assert found.columns["graph"] == ["train"] * 4 + ["test"] * 2
    assert found.graph == "test"
    assert history(run, "dense/Relu:0", graph="train").columns["step"].tolist() == [0, 1, 2, 3]
    assert histograms(run, "dense/Relu:0").step.tolist() == [0, 1, 2, 3, 4, 5]


def test_long_histories_are_thinned(run):
    found = history(run, "dense/MatMul", limit=3)
    assert found.columns["step"].tolist() == [0, 20, 50]
    assert found.thinned_from == 6


def test_what_does_not_exist_is_refused_with_what_does(run):
    with pytest.raises(NotFoundError, match="Did you mean 'dense/Relu:0'"):
        history(run, "dense/Rely:0")
    with pytest.raises(NotFoundError, match="was not captured in graph '-'"):
        history(run, "dense/Relu", graph="-")
    with pytest.raises(NotFoundError, match="No worker 'w'"):
        history(run, "dense/Relu", worker="w")
    with pytest.raises(SelectionError):
        history(run, "dense/Relu", steps="x")


def test_a_step_merges_visits(run, graph_id):
    columns = step_statistics(run, graph_id, 10).columns
    graph = run.graph(graph_id)
    names = [graph.names[row] for row in columns["node"]]
    assert sorted(names) == ["dense/MatMul", "dense/Relu", "gradient_tape/dense/MatMul/MatMul"]
    relu = names.index("dense/Relu")
    visits = history(run, "dense/Relu", steps=10).columns
    assert columns["visits"][relu] == 2
    assert columns["size"][relu] == 24
    assert columns["max"][relu] == visits["max"].max()
    assert columns["mean"][relu] == pytest.approx(visits["mean"].mean())
    assert columns["dtype"][relu] == "float32"
    assert columns["kept"].tolist() == [int(name != "dense/Relu") for name in names]


def test_a_step_of_another_graph_is_empty_and_an_unknown_step_refused(run, graph_id):
    assert len(step_statistics(run, graph_id, 7).columns["node"]) == 0
    assert len(step_statistics(run, "-", 7).columns["node"]) == 2
    with pytest.raises(NotFoundError, match="Steps go from 0 to 50"):
        step_statistics(run, graph_id, 8)


@pytest.fixture
def two_workers(tmp_path):
    """One tensor captured by two workers at the same steps."""
    for rank in range(2):
        with DumpWriter(tmp_path, "r", rank=rank) as writer:
            for step in range(3):
                writer.log("a", np.arange(4.0) + 10 * rank, step=step, time=100.0 * rank + step)
    log = LogIndex(tmp_path)
    log.refresh()
    return log.runs[0]


def test_workers_stay_apart_in_a_history_and_are_merged_at_a_step(two_workers):
    first, second = (worker.id for worker in two_workers.workers)
    columns = history(two_workers, "a").columns
    assert columns["step"].tolist() == [0, 0, 1, 1, 2, 2]
    assert columns["worker"] == [first, second] * 3
    assert history(two_workers, "a", worker=second).columns["min"].tolist() == [10.0] * 3
    merged = step_statistics(two_workers, "-", 1).columns
    expected = summarize(np.concatenate((np.arange(4.0), np.arange(4.0) + 10)))
    for name in ("size", "positive", "zero", "min", "max", "mean", "std", "l2", "abs_max"):
        assert merged[name][0] == pytest.approx(getattr(expected, name)), name
    alone = step_statistics(two_workers, "-", 1, worker=first).columns
    assert (alone["visits"][0], alone["max"][0]) == (1, 3.0)
