"""Eager programs: their ops are numbered in the order in which they run, so another op shifts later names."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from tensortap.analysis.compare.compare import compare
from tensortap.analysis.compare.comparison_records import Comparison
from tensortap.analysis.compare.matching.sequence_alignment import common_subsequence
from tensortap.analysis.compare.side import Side
from tensortap.core.records import Function, Graph, Node
from tensortap.dump.write.writer import DumpWriter
from tensortap.index.logdir_index import LogIndex

Op = tuple[str, list[str], int, object]  # op type, inputs, source line, value
DATA = np.float32([[1, 5], [3, 9]])


def recorded(folder: Path, name: str, ops: list[Op]) -> None:
    """A run of eager ops, with the names that capture gives them (`Sub`, `Sub_1`, …)."""
    counts, names, nodes, values = Counter[str](), dict[str, str](), list[Node](), dict[str, object]()
    lines = sorted({line for _, _, line, _ in ops})
    for op, inputs, line, value in ops:
        own = op.rstrip("0123456789 ")
        names[op] = own if not counts[own] else f"{own}_{counts[own]}"
        counts[own] += 1
        shape = list(np.shape(value))  # type: ignore[arg-type]
        nodes.append(
            Node(
                names[op],
                own,
                [f"{names[text]}:0" for text in inputs],
                function="eager",
                stack=lines.index(line),
                output_dtypes=["float32"],
                output_shapes=[shape],
            )
        )
        values[names[op]] = value
    stacks = [[("train.py", line, "step")] for line in lines]
    with DumpWriter(folder, run=name) as writer:
        graph = writer.graph(
            Graph("eager", nodes, functions={"eager": Function()}, stacks=stacks, way="in-place")
        )
        for tensor, value in values.items():
            writer.log(tensor, np.asarray(value), step=0, graph=graph, keep="value")


def compared(folder: Path, a: list[Op], b: list[Op], matches: dict[str, str] | None = None) -> Comparison:
    recorded(folder, "a", a)
    recorded(folder, "b", b)
    log = LogIndex(folder)
    log.refresh()
    runs = {run.name: run for run in log.runs}
    return compare(Side(runs["a"]), Side(runs["b"]), matches=matches)


def updates(scale: float) -> list[Op]:
    """An optimizer's ops: of equal shapes, in one line, and no two of equal numbers."""
    return [(f"Sub {number}", [], 9, DATA * scale * number) for number in range(2, 5)]


def trained(scaled: str) -> list[Op]:
    """A step whose input is centred (`Sub`) or divided (`RealDiv`) first, or neither."""
    line, data = {"Sub": (2, DATA - 1), "RealDiv": (3, DATA / 4), "": (0, DATA)}[scaled]
    before: list[Op] = [(scaled, [], line, data)] if scaled else []
    product = data @ DATA
    return [
        *before,
        ("MatMul", [scaled] if scaled else [], 5, product),
        ("Square", ["MatMul"], 6, product**2),
        *updates(float(product.sum())),
    ]


@pytest.mark.parametrize(("a", "b"), [("", "Sub"), ("Sub", "RealDiv"), ("RealDiv", "Sub"), ("Sub", "")])
def test_a_difference_begins_where_another_op_is_and_not_in_the_optimizer(
    tmp_path: Path, a: str, b: str
) -> None:
    found = compared(tmp_path, trained(a), trained(b))
    assert [each.node for each in found.only_a] == [a] * bool(a)
    assert [each.node for each in found.only_b] == [b] * bool(b)
    assert [graph.matched["order"] for graph in found.graphs] == [5]
    assert found.first is not None
    assert found.first.difference.node == "MatMul"
    line = {"Sub": "train.py:2", "RealDiv": "train.py:3"}[b or a]
    assert f"{b or a} ({b or a})" in found.first.text and line in found.first.text


def test_a_manual_pair_stays(tmp_path: Path) -> None:
    found = compared(tmp_path, trained(""), trained("Sub"), {"Sub": "Sub"})
    assert found.graphs[0].matched["hand"] == 1
    assert next(each for each in found.tensors if each.node == "Sub").other == "Sub:0"


def test_an_op_without_effect_makes_no_difference(tmp_path: Path) -> None:
    found = compared(tmp_path, trained(""), [("Sub", [], 2, DATA), *trained("")])
    assert not found.differ
    assert ([each.node for each in found.only_b], found.notes) == (["Sub"], [])


def test_the_earliest_eager_op_comes_first_though_its_inputs_are_unknown(tmp_path: Path) -> None:
    """The loss differs before the gradient, all of whose inputs are known."""

    def of(loss: str) -> list[Op]:
        error = np.abs(DATA) if loss == "Abs" else DATA**2
        slope = np.sign(DATA) if loss == "Abs" else 2 * DATA
        return [
            ("Sub", [], 1, DATA),
            (loss, ["Sub"], 2 if loss == "Abs" else 3, error),
            ("Mean", [loss], 4, error.mean()),
            ("Mul", ["Sub"], 5, slope),
        ]

    first = compared(tmp_path, of("Square"), of("Abs")).first
    assert first is not None
    assert first.difference.node == "Mean"
    assert "Its input Abs (Abs) in B is Square (Square) in A: train.py:2." in first.text


@pytest.mark.parametrize("frozen", [0, 1, 2])
def test_the_ops_of_a_variable_that_is_frozen_are_missing_and_no_others_differ(
    tmp_path: Path, frozen: int
) -> None:
    """GIVEN layers of one shape WHEN one of them is not trained THEN order alone would pair its updates with
    those of the next."""

    def of(trained: list[int]) -> list[Op]:
        forward: list[Op] = [(f"Relu {k}", [f"Relu {k - 1}"] * (k > 0), 1, DATA + k) for k in range(3)]
        gradients: list[Op] = [(f"MatMul {k}", [f"Relu {k}"], 2, DATA * (k + 2)) for k in reversed(trained)]
        copies: list[Op] = [(f"Identity {k}", [f"MatMul {k}"], 3, DATA * (k + 2)) for k in trained]
        updates: list[Op] = []
        for k in trained:
            updates += [
                (f"ReadVariableOp {k}", [], 3, DATA * 0),
                (f"Sub {k}", [f"Identity {k}", f"ReadVariableOp {k}"], 3, DATA * (k + 2)),
                (f"Mul {k}", [f"Sub {k}"], 3, DATA * (k + 3)),
            ]
        return [*forward, *gradients, *copies, *updates]

    found = compared(tmp_path, of([0, 1, 2]), of([k for k in range(3) if k != frozen]))
    assert not found.differ
    assert sorted(each.op_type for each in found.only_a) == sorted(
        ["MatMul", "Identity", "ReadVariableOp", "Sub", "Mul"]
    )
    assert found.only_b == []


def test_the_longest_common_subsequence_is_found() -> None:
    rng = np.random.default_rng(0)
    for _ in range(200):
        a, b = ([(int(key),) for key in rng.integers(0, 4, rng.integers(0, 12))] for _ in range(2))
        pairs = common_subsequence([(9,), *a], [(8,), (9,), *b], (1, len(a) + 1, 2, len(b) + 2))
        longest = np.zeros((len(a) + 1, len(b) + 1), int)
        for i, left in enumerate(a):
            for j, right in enumerate(b):
                longest[i + 1, j + 1] = (
                    longest[i, j] + 1 if left == right else max(longest[i, j + 1], longest[i + 1, j])
                )
        assert len(pairs) == longest[-1, -1]
        assert all(a[row - 1] == b[partner - 2] for row, partner in pairs)
        assert all(x < y and p < q for (x, p), (y, q) in zip(sorted(pairs), sorted(pairs)[1:], strict=False))
