"""What is wrong with a run: the first non-finite tensors, drops, damage."""

from __future__ import annotations

import numpy as np

from tensortap.analysis.overview import problems
from tensortap.core.records import Graph, Node
from tensortap.dump.write.writer import DumpWriter
from tensortap.index.logdir_index import LogIndex


def test_tensors_in_order_of_step_and_data_flow(run, graph_id):
    found = problems(run)
    assert [(p.tensor, p.first_step, p.steps) for p in found.nonfinite] == [
        ("dense/MatMul:0", 30, 3),
        ("dense/Relu:0", 30, 3),
        ("gradient_tape/dense/MatMul/MatMul:0", 30, 3),
    ]
    relu = found.nonfinite[1]
    assert (relu.node, relu.graph, relu.op_type, relu.layer) == (
        "dense/Relu",
        graph_id,
        "Relu",
        "model/dense",
    )
    assert (relu.nan, relu.inf) == (2, 2)  # both visits
    assert (found.dropped, found.damage) == (0, [])


def test_the_earlier_step_comes_first(tmp_path):
    bad = np.array([np.inf, -np.inf, np.nan])
    with DumpWriter(tmp_path) as writer:
        graph = writer.graph(Graph("g", [Node("late", "Log"), Node("early", "Exp", ["late:0"])]))
        for step in range(5):
            writer.log("late", bad if step >= 3 else np.ones(3), step=step, graph=graph)
            writer.log("early", bad if step == 1 else np.ones(3), step=step, graph=graph)
            writer.log("fine", np.ones(3), step=step, graph=graph)
        writer.dropped(7)
    log = LogIndex(tmp_path)
    log.refresh()
    found = problems(log.runs[0])
    assert [(p.tensor, p.first_step, p.steps, p.nan, p.inf) for p in found.nonfinite] == [
        ("early:0", 1, 1, 1, 2),
        ("late:0", 3, 2, 1, 2),
    ]
    assert found.dropped == 7


def test_a_run_without_problems(tmp_path):
    with DumpWriter(tmp_path) as writer:
        writer.log("a", np.ones(3), step=0)
    log = LogIndex(tmp_path)
    log.refresh()
    assert problems(log.runs[0]).nonfinite == []
