"""Dumps written by hand: what is said where only summaries, or not all tensors, were captured."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest

from tensortap.analysis.nonfinite.nan_report import NanReport, nan_report
from tensortap.analysis.overview import problems
from tensortap.core.errors import NotFoundError
from tensortap.core.records import Function, Graph, Node
from tensortap.dump.write.writer import DumpWriter
from tensortap.index.logdir_index import LogIndex
from tensortap.index.run_index import RunIndex

F = {"output_dtypes": ["float32"], "output_shapes": [[None]]}
NODES = [
    Node("x", "Placeholder", attributes={"tensortap.kind": "input"}, **F),
    Node("relu", "Relu", ["x:0"], **F),
    Node("log", "Log", ["relu:0"], **F),
    Node("loss", "Sum", ["log:0"], output_dtypes=["float32"], output_shapes=[[]]),
]
VALUES = {
    "x": np.array([1.0, -1.0, 2.0], np.float32),
    "relu": np.array([1.0, 0.0, 2.0], np.float32),
    "log": np.array([0.0, -np.inf, 0.7], np.float32),
    "loss": np.array(-np.inf, np.float32),
}


def run_with(
    folder: Path, captured: Iterable[str], keep: str = "summary", steps: Iterable[int] = (0,)
) -> RunIndex:
    with DumpWriter(folder, run="made") as writer:
        graph = writer.graph(Graph("step", NODES, functions={"": Function(outputs=["loss:0"])}))
        for step in steps:
            for name in captured:
                writer.log(name, VALUES[name], step=step, graph=graph, keep=keep)  # type: ignore[arg-type]
    log = LogIndex(folder)
    log.refresh()
    return log.runs[0]


def report_of(folder: Path, captured: Iterable[str], **options: object) -> NanReport:
    return nan_report(run_with(folder, captured, **options))  # type: ignore[arg-type]


def test_summaries_are_enough_to_explain(tmp_path: Path) -> None:
    origin, *others = report_of(tmp_path, VALUES).origins
    assert (origin.tensor, origin.verdict) == ("log:0", "origin")
    assert origin.explanation is not None
    assert origin.explanation.text == "log(0) = -inf: 1 element of relu:0 is exactly 0."
    assert origin.elements == others == []


def test_values_show_the_element(tmp_path: Path) -> None:
    origin = report_of(tmp_path, VALUES, keep="value").origins[0]
    trail = [(element.tensor, element.index, element.value) for element in origin.elements[0].trail]
    assert trail == [("log:0", (1,), -np.inf), ("relu:0", (1,), 0.0), ("x:0", (1,), -1.0)]
    assert origin.elements[0].row == 1


def test_the_sample_is_named_where_the_run_says_which_fed_the_step(tmp_path: Path) -> None:
    with DumpWriter(tmp_path, run="made") as writer:
        graph = writer.graph(Graph("step", NODES, functions={"": Function(outputs=["loss:0"])}))
        writer.event("batch", step=0, ids=["a.png", "b.png", "c.png"], count=3)
        for name, value in VALUES.items():
            writer.log(name, value, step=0, graph=graph, keep="value")
    log = LogIndex(tmp_path)
    log.refresh()
    assert nan_report(log.runs[0]).origins[0].elements[0].sample == "b.png"


def test_an_input_that_was_not_captured_makes_it_a_suspicion(tmp_path: Path) -> None:
    report = report_of(tmp_path, ["x", "log", "loss"])
    origin = report.origins[0]
    assert (origin.tensor, origin.verdict, origin.missing) == ("log:0", "suspected", ["relu"])
    assert not origin.inputs[0].known
    assert origin.explanation is not None
    assert not origin.explanation.certain
    assert "Watch(nodes='relu')" in report.notes[0]


def test_only_the_loss_was_captured(tmp_path: Path) -> None:
    origin = report_of(tmp_path, ["loss"]).origins[0]
    assert (origin.tensor, origin.verdict) == ("loss:0", "suspected")
    assert set(origin.missing) >= {"log", "relu"}


def test_a_run_without_graph_says_so(tmp_path: Path) -> None:
    with DumpWriter(tmp_path, run="made") as writer:
        writer.log("a", VALUES["log"], step=3)
    log = LogIndex(tmp_path)
    log.refresh()
    report = nan_report(log.runs[0])
    assert (report.step, report.origins[0].verdict) == (3, "suspected")
    assert "does not show the inputs" in report.notes[0]


def test_a_finite_run_and_a_step_that_is_not_there(tmp_path: Path) -> None:
    run = run_with(tmp_path, ["x", "relu"])
    assert (nan_report(run).step, nan_report(run).origins) == (None, [])
    with pytest.raises(NotFoundError, match="no snapshot at step 9"):
        nan_report(run, 9)


def test_a_label_that_is_no_class(tmp_path: Path) -> None:
    """TensorFlow raises for it on a CPU; on a GPU, and under XLA, the loss is NaN."""
    kinds = {"output_dtypes": ["float32"], "output_shapes": [[2, 3]]}
    nodes = [
        Node("logits", "Placeholder", attributes={"tensortap.kind": "input"}, **kinds),
        Node("labels", "Placeholder", attributes={"tensortap.kind": "input"}, output_dtypes=["int32"]),
        Node("entropy", "SparseSoftmaxCrossEntropyWithLogits", ["logits:0", "labels:0"], **kinds),
    ]
    with DumpWriter(tmp_path, run="made") as writer:
        graph = writer.graph(Graph("step", nodes, functions={"": Function(outputs=["entropy:0"])}))
        writer.log("logits", np.ones((2, 3), np.float32), step=0, graph=graph)
        writer.log("labels", np.array([1, 3], np.int32), step=0, graph=graph)
        writer.log("entropy", np.array([1.1, np.nan], np.float32), step=0, graph=graph)
    log = LogIndex(tmp_path)
    log.refresh()
    explanation = nan_report(log.runs[0]).origins[0].explanation
    assert explanation is not None
    assert explanation.pattern == "label out of range"
    assert explanation.text == "Labels outside 0…2 give NaN: labels:0 spans 1…3."


def test_problems_of_a_step_begin_with_the_graph_that_trains(tmp_path: Path) -> None:
    """GIVEN NaN in an evaluation's graph (by name the first) and in the training's, at one step."""
    log_node = Node("log", "Log", ["x:0"], **F)
    trains = Node("gradients/x", "Mul", ["log:0"], attributes={"tensortap.kind": "gradient"}, **F)
    with DumpWriter(tmp_path, run="made") as writer:
        for name, nodes in (("evaluate", [NODES[0], log_node]), ("train", [NODES[0], log_node, trains])):
            graph = writer.graph(Graph(name, nodes, functions={"": Function()}))
            for node in reversed(nodes[1:]):
                writer.log(node.name, VALUES["log"], step=0, graph=graph)
    log = LogIndex(tmp_path)
    log.refresh()
    run = log.runs[0]
    found = [(run.graph(entry.graph).name, entry.node) for entry in problems(run).nonfinite]
    assert found == [("train", "log"), ("train", "gradients/x"), ("evaluate", "log")]
