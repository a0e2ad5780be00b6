"""A node that takes other inputs: `diff` names them, and doesn't say that its inputs are equal."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from two_dumps import Program, Values, compared, node

from tensortap.core.records import Node

X = np.float32([2, 3])
RATE = node("rate", "Const", attributes={"dtype": "float32", "value": "float32() 0.5"}, shape=())
SAME = "All its inputs are equal, so the op itself computes something different."


def program(total: Node, value: object, *more: Node) -> tuple[Program, Values]:
    """Three tensors that are equal in both programs, and a node that takes some of them."""
    nodes = [
        node("x", "Placeholder"),
        node("price", "Neg", "x"),
        node("score", "Square", "x"),
        node("norm", "Abs", "x"),
        *(*more, total),
    ]
    same = {"x": X, "price": -X, "score": X**2, "norm": abs(X)}
    return nodes, same | {"total": np.broadcast_to(np.float32(value), X.shape)}


@pytest.mark.parametrize(
    ("in_a", "in_b", "text"),
    [
        (
            *(["x", "score"], ["x", "price"]),
            "Its input is score (Square, model.py:12) in A, and price (Neg, model.py:11) in B.",
        ),
        (["x", "score"], ["x", "score", "norm"], "It takes norm (Abs, model.py:13) in B only."),
        (["x", "price", "norm"], ["x", "norm"], "It takes price (Neg, model.py:11) in A only."),
        (
            *(["price", "score"], ["norm", "x"]),
            "Its inputs are price (Neg, model.py:11) and score (Square, model.py:12) in A, "
            "and norm (Abs, model.py:13) and x (Placeholder, model.py:10) in B.",
        ),
        (
            *(["x", "price", "score", "norm"], ["x"]),
            "It takes price (Neg, model.py:11) and score (Square, model.py:12), … in A only.",
        ),
        (["x", "score"], ["x", "score"], SAME),
    ],
    ids=["another", "one more", "one less", "all", "many less", "same"],
)
def test_other_inputs_are_named_with_their_lines(
    tmp_path: Path, in_a: list[str], in_b: list[str], text: str
) -> None:
    a, b = (node("total", "AddN", *taken) for taken in (in_a, in_b))
    first = compared(tmp_path, program(a, 1), program(b, 2)).first
    assert first is not None
    assert first.difference.tensor == "total:0"
    assert first.text == text
    assert [entry.tensor for entry in first.inputs] == (["x:0", "score:0"] if text == SAME else [])


def test_the_product_of_an_added_regularizer_does_not_pass_for_that_of_the_loss(tmp_path: Path) -> None:
    """GIVEN `mul` scales the loss in A, and in B the penalty, by a constant that only B has."""
    a = program(node("total", "Mul", "price", "score"), -(X**3))
    b = program(node("total", "Mul", "rate", "norm"), X / 2, RATE)
    first = compared(tmp_path, a, b).first
    assert first is not None
    assert first.text == (
        "Its inputs are price (Neg, model.py:11) and score (Square, model.py:12) in A, "
        "and norm (Abs, model.py:13) in B."
    )


_SWAPPED = (
    "Its inputs are x (Placeholder, model.py:10) and score (Square, model.py:12) in A, "
    "and score (Square, model.py:12) and x (Placeholder, model.py:10) in B."
)


@pytest.mark.parametrize(("op_type", "text"), [("Atan2", _SWAPPED), ("Maximum", SAME)])
def test_swapped_inputs_are_not_equal_ones(tmp_path: Path, op_type: str, text: str) -> None:
    a = program(node("total", op_type, "x", "score"), 1)
    b = program(node("total", op_type, "score", "x"), 2)
    first = compared(tmp_path, a, b).first
    assert first is not None
    assert text in first.text


def test_a_difference_the_other_way_round_is_named(tmp_path: Path) -> None:
    """GIVEN `rate - x` in A and `x - rate` in B, of one constant."""
    a = program(node("total", "Sub", "rate", "x"), 0.5 - X, RATE)
    b = program(node("total", "Sub", "x", "rate"), X - 0.5, RATE)
    first = compared(tmp_path, a, b).first
    assert first is not None
    assert first.text == (
        "Its inputs are rate (Const, model.py:14) and x (Placeholder, model.py:10) in A, "
        "and x (Placeholder, model.py:10) and rate (Const, model.py:14) in B."
    )


def test_another_output_of_one_node_is_another_input(tmp_path: Path) -> None:
    pair = Node("pair", "Unstack", ["x:0"], output_dtypes=["float32"] * 2, output_shapes=[[2]] * 2)
    runs = []
    for slot, value in enumerate((X, 2 * X)):
        total = Node("total", "Neg", [f"pair:{slot}"], output_dtypes=["float32"], output_shapes=[[2]])
        nodes, values = program(total, -value, pair)
        runs.append((nodes, {**values, "pair:0": X, "pair:1": 2 * X}))
    first = compared(tmp_path, *runs).first
    assert first is not None
    assert first.text == (
        "Its input is pair (Unstack, model.py:14) in A, and output 1 of pair (Unstack, model.py:14) in B."
    )


def test_a_cast_is_no_other_input(tmp_path: Path) -> None:
    a = program(node("total", "Mul", "x", "score"), 1)
    b = program(node("total", "Mul", "x", "converted"), 2, node("converted", "Cast", "score"))
    first = compared(tmp_path, a, b).first
    assert first is not None
    assert "model.py" not in first.text
