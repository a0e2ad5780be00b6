"""Dumps written by hand: which op `diff` accuses where inputs differ by rounding, and which it does not."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tensortap.analysis.compare.compare import compare
from tensortap.analysis.compare.comparison_records import Comparison
from tensortap.analysis.compare.side import Side
from tensortap.core.records import Function, Graph, Node
from tensortap.dump.write.writer import DumpWriter
from tensortap.index.logdir_index import LogIndex

F = {"output_dtypes": ["float32"], "output_shapes": [[None]]}
NODES = [
    Node("x", "Placeholder", attributes={"tensortap.kind": "input"}, **F),
    Node("wide", "MatMul", ["x:0", "x:0"], **F),
    Node("moment", "Mul", ["wide:0", "wide:0"], **F),
    Node("size", "Sqrt", ["moment:0"], **F),
    Node("quotient", "RealDiv", ["wide:0", "size:0"], **F),
]


def compared(folder: Path, b_quotient: float | None = None) -> Comparison:
    """Two runs whose `wide` differs by rounding, so that the quotient's sign flips at element 1; B's quotient
    there may be another."""
    with DumpWriter(folder / "a", run="a") as left, DumpWriter(folder / "b", run="b") as right:
        for writer, tiny, other in ((left, 1e-7, None), (right, -1e-7, b_quotient)):
            graph = writer.graph(Graph("step", NODES, functions={"": Function(outputs=["quotient:0"])}))
            wide = np.array([1.0, tiny], np.float32)
            quotient = np.sign(wide) if other is None else np.array([1.0, other], np.float32)
            values = {"x": np.ones(2, np.float32), "wide": wide, "moment": wide * wide}
            values |= {"size": np.sqrt(wide * wide), "quotient": quotient}
            for name, value in values.items():
                writer.log(name, value, step=0, graph=graph, keep="value")
    log = LogIndex(folder)
    log.refresh()
    runs = {run.name.rpartition("/")[2]: run for run in log.runs}
    return compare(Side(runs["a"]), Side(runs["b"]))


def test_a_right_op_is_ill_conditioned_and_not_accused(tmp_path: Path) -> None:
    found = compared(tmp_path)
    verdicts = {entry.node: entry.verdict for entry in found.tensors}
    assert (verdicts["wide"], verdicts["quotient"], found.differ) == ("noise", "amplified", True)
    assert found.first is not None
    assert found.first.difference.node == "quotient"
    assert found.first.text.startswith("Ill-conditioned here, but correct: its inputs differ by 2e-07")
    assert found.first.text.endswith("It amplifies rounding that starts at wide:0 (MatMul).")
    assert "At [1]: RealDiv(1e-07, 1e-07) = 1 in A, RealDiv(-1e-07, 1e-07) = -1 in B" in found.first.text


def test_an_op_that_gives_something_else_is_accused_with_its_side(tmp_path: Path) -> None:
    first = compared(tmp_path, b_quotient=0.5).first
    assert first is not None
    assert (first.difference.node, first.difference.verdict) == ("quotient", "diverges")
    assert first.text == "Recomputing RealDiv from the stored inputs does not reproduce B; A is reproduced."
