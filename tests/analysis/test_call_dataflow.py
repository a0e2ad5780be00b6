"""What functions are given and return, as their graph tells it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from two_dumps import node

from tensortap.analysis.compare.compare import compare
from tensortap.analysis.compare.side import Side
from tensortap.analysis.model_graph.call_dataflow import dataflow_of
from tensortap.core.records import Function, Graph, Node
from tensortap.dump.write.writer import DumpWriter
from tensortap.index.graph.graph_index import FunctionInfo, GraphIndex
from tensortap.index.logdir_index import LogIndex

DEPTH = 300


class SnapshotCounts(dict[str, FunctionInfo]):
    """Counts how often a function is looked up."""

    asked = 0

    def __getitem__(self, name: str) -> FunctionInfo:
        self.asked += 1
        return super().__getitem__(name)

    def get(self, name: str, default: object = None) -> FunctionInfo | None:  # type: ignore[override]
        self.asked += 1
        return super().get(name)


def nested(tmp_path: Path, functions: dict[str, Function]) -> GraphIndex:
    """A graph of a node `in NAME` in each function."""
    nodes = [Node(f"in {name}", "PartitionedCall", function=name) for name in functions]
    with DumpWriter(tmp_path, "run") as writer:
        graph = writer.graph(Graph("step", nodes, functions=functions))
        writer.log("in f0:0", np.float32([1]), step=0, graph=graph)
    log = LogIndex(tmp_path)
    log.refresh()
    return log.runs[0].graph(graph)


def test_the_outermost_loop_of_nested_functions_is_found_in_one_go(tmp_path: Path) -> None:
    functions = {"f0": Function()}
    for i in range(1, DEPTH):
        functions[f"f{i}"] = Function(f"f{i - 1}", f"in f{i - 1}", "body" if i in (5, 200) else "call")
    graph = nested(tmp_path, functions)
    counted = graph.__dict__["functions"] = SnapshotCounts(graph.functions)
    loop = graph.rows["in f4"]
    rows = [graph.rows[f"in f{i}"] for i in range(DEPTH)]
    assert [dataflow_of(graph).outermost(row) for row in rows] == rows[:5] + [loop] * (DEPTH - 5)
    assert counted.asked < 5 * DEPTH


def test_functions_that_call_each_other_have_an_outermost_loop_too(tmp_path: Path) -> None:
    graph = nested(tmp_path, {"f0": Function("f1", "in f1", "body"), "f1": Function("f0", "in f0", "call")})
    assert [dataflow_of(graph).outermost(row) for row in range(2)] == [graph.rows["in f1"]] * 2


def test_of_what_a_function_returns_and_the_graph_does_not_hold_the_call_is_named(tmp_path: Path) -> None:
    nodes = [
        node("x", "Placeholder"),
        node("call", "PartitionedCall", "x"),
        node("product", "Mul", "x", "call"),
        node("last", "Sum", "product"),
    ]
    functions = {"": Function(), "f": Function(caller="call", role="call", outputs=["gone:0"])}
    for name, bug in (("a", 0.0), ("b", 1.0)):
        with DumpWriter(tmp_path, name) as writer:
            graph = writer.graph(Graph("step", nodes, functions=functions))
            for tensor, value in (("x", 1.0), ("product", 2.0 + bug), ("last", 2.0 + bug)):
                writer.log(tensor, np.float32([value]), step=0, graph=graph, keep="value")
    log = LogIndex(tmp_path)
    log.refresh()
    first = compare(*(Side(run) for run in log.runs)).first
    assert first is not None
    assert (first.difference.tensor, [entry.tensor for entry in first.inputs]) == ("product:0", ["x:0"])
    assert "call:0" in first.text
