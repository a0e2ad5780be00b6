"""What functions are given and return, as their graph tells it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from two_dumps import node

from tensortap.analysis import Side, compare
from tensortap.dump import DumpWriter, Function, Graph
from tensortap.index import LogIndex


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
