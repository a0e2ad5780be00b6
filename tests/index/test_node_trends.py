"""Trends of nodes: what each place holds, how steps share places, whose snapshots count."""

from __future__ import annotations

import numpy as np
import pytest

from tensortap.core.errors import NotFoundError, SelectionError
from tensortap.core.records import Graph, Node
from tensortap.dump.write.writer import DumpWriter
from tensortap.importers.partial_summary import partial_summary
from tensortap.importers.tfdbg.v2 import CURT_HEALTH, NOT_COUNTED, health_summary
from tensortap.index.logdir_index import LogIndex
from tensortap.index.run_index import RunIndex
from tensortap.index.series.step_statistics import step_statistics
from tensortap.index.series.timeline import timeline
from tensortap.index.series.trends import node_trends

NODES = ["x", "split", "dead", "never"]
STEPS = 10


@pytest.fixture
def run(tmp_path) -> RunIndex:
    """`split` has two outputs and, at step 4, two visits; `dead` is not finite from step 6 on."""
    with DumpWriter(tmp_path, "r") as writer:
        graph = writer.graph(
            Graph("train", [Node(name, "Op", output_dtypes=["float32"] * 2) for name in NODES])
        )
        for step in range(STEPS):
            writer.log("x:0", np.array([-step, 0.0], np.float32), step=step, graph=graph)
            writer.log("split:0", np.full(2, 1.0 + step, np.float32), step=step, graph=graph)
            writer.log("split:1", np.full(2, -100.0, np.float32), step=step, graph=graph)
            bad = {6: np.inf, 7: np.nan}.get(step, 1.0)
            writer.log("dead:0", np.array([bad, 3.0], np.float32), step=step, graph=graph)
        writer.log("split:0", np.full(2, 500.0, np.float32), step=4, visit=1, graph=graph)
        writer.log("x:0", np.full(2, 9e9, np.float32), step=0)  # of no graph
    log = LogIndex(tmp_path)
    log.refresh()
    return log.runs[0]


def lines(run: RunIndex, nodes: list[int], statistic: str, **options: object) -> dict[int, tuple[list, ...]]:
    """Steps, values and health of each node, in the order of the rows."""
    graph_id = next(graph.id for graph in run.graphs if graph.id != "-")
    found = node_trends(run, graph_id, nodes, statistic, **options)
    rows = {node: found.node == node for node in dict.fromkeys(found.node.tolist())}
    return {
        node: tuple(part[mask].tolist() for part in (found.step, found.value, found.health))
        for node, mask in rows.items()
    }


def test_a_place_holds_the_strongest_of_all_tensors_and_visits(run):
    largest = lines(run, [1], "max")[1]
    assert largest == (list(range(STEPS)), [1, 2, 3, 4, 500, 6, 7, 8, 9, 10], [1] * STEPS)
    assert lines(run, [1], "min")[1][1] == [-100] * STEPS
    assert lines(run, [1], "mean")[1][1] == [-100] * 4 + [500] + [-100] * 5
    assert lines(run, [0], "zero_share")[0][1] == [1] + [0.5] * 9


def test_health_is_the_worst_and_the_value_that_of_what_is_finite(run):
    step, value, health = lines(run, [2], "abs_max")[2]
    assert step == list(range(STEPS))
    assert health == [1] * 6 + [2, 3] + [1] * 2
    assert value == [3] * STEPS


def test_nodes_come_in_the_order_asked_for_and_only_where_captured(run):
    assert list(lines(run, [2, 3, 0], "abs_max")) == [2, 0]
    assert lines(run, [3], "abs_max") == {}


def test_steps_share_places_and_no_extreme_is_lost(run):
    found = lines(run, [0, 1, 2], "max", places=3)
    assert found[1] == ([0, 4, 7], [4, 500, 10], [1, 1, 1])
    assert found[2][2] == [1, 2, 3]
    assert found[0][0] == [0, 4, 7]


def test_a_range_of_steps_and_a_worker_restrict(run):
    assert lines(run, [1], "max", steps="3:5")[1][:2] == ([3, 4], [4, 500])
    worker = run.workers[0].id
    assert lines(run, [1], "max", worker=worker) == lines(run, [1], "max")
    with pytest.raises(NotFoundError, match="nobody"):
        lines(run, [1], "max", worker="nobody")


@pytest.mark.parametrize(
    ("nodes", "statistic", "reported"), [([4], "max", "node 4"), ([0], "median", "median")]
)
def test_what_is_not_there_is_named(run, nodes, statistic, reported):
    with pytest.raises(SelectionError, match=reported):
        lines(run, nodes, statistic)


def test_what_a_source_does_not_tell_is_neither_fine_nor_a_share(tmp_path):
    with DumpWriter(tmp_path, "r", info={"not counted": "nan, pos_inf, neg_inf"}) as writer:
        graph = writer.graph(Graph("train", [Node("x", "Op", output_dtypes=["float32"])]))
        writer.log_summary("x:0", partial_summary("float32", (3, 3), 9), step=0, graph=graph)
    log = LogIndex(tmp_path)
    log.refresh()
    found = node_trends(log.runs[0], graph, [0], "nan_share")
    assert (found.health.tolist(), np.isnan(found.value).tolist()) == ([0], [True])


def test_a_source_without_sizes_tells_no_shares(tmp_path):
    """GIVEN a mode that says only whether there are some THEN they are not 100 % of the tensor."""
    with DumpWriter(tmp_path, "r", info={"not counted": ", ".join(NOT_COUNTED[CURT_HEALTH])}) as writer:
        graph = writer.graph(Graph("train", [Node("x", "Op", output_dtypes=["float32"])]))
        for step in range(2):
            writer.log_summary(
                "x:0", health_summary(CURT_HEALTH, np.array([1, step])), step=step, graph=graph
            )
    log = LogIndex(tmp_path)
    log.refresh()
    run = log.runs[0]
    assert np.isnan(step_statistics(run, graph, 1).columns["size"]).all()
    for statistic in ("nan_share", "inf_share", "zero_share"):
        found = node_trends(run, graph, [0], statistic)
        assert np.isnan(found.value).all()
        assert np.isnan(timeline(run, graph, statistic).value).all()
        assert found.health.tolist()[1] == 3
