"""What nodes with cryptic names are for, in words."""

from __future__ import annotations

from typing import Any

import pytest

from tensortap.capture.tracing.node_descriptions import describe_node


@pytest.mark.parametrize(
    ("name", "op_type", "known", "text"),
    [
        (
            "bidirectional_rnn/bw/while/Exit_4",
            "Exit",
            {},
            "bidirectional_rnn/bw · loop variable 4 after the last iteration",
        ),
        (
            "bidirectional_rnn/bw/while/NextIteration",
            "NextIteration",
            {},
            "bidirectional_rnn/bw · loop variable 0 for the next iteration · once per iteration of a loop",
        ),
        ("rnn/while/cell/MatMul", "MatMul", {}, "rnn/cell · once per iteration of a loop"),
        ("model/cond/Merge", "Merge", {}, "model · the result of the branch that ran"),
        ("dense/MatMul", "MatMul", {"role": "root", "layer": "mlp/dense"}, ""),
        (
            "gradient_tape/mlp_1/dense_1/MatMul/MatMul_1",
            "MatMul",
            {"role": "root", "layer": "mlp/dense"},
            "mlp/dense · backward pass of mlp_1/dense_1/MatMul",
        ),
        (
            "StatefulPartitionedCall",
            "StatefulPartitionedCall",
            {"role": "root", "calls": "__inference_train_step_123"},
            "calls the function train_step",
        ),
        (
            "lstm/while/add",
            "AddV2",
            {"role": "body", "layer": "lstm"},
            ("lstm · once per iteration of a loop"),
        ),
        ("lstm/while/zeros", "Const", {"role": "root", "layer": "lstm"}, ""),
        ("cond/up", "AddV2", {"role": "then"}, "in the true branch"),
    ],
)
def test_meanings(name: str, op_type: str, known: dict[str, Any], text: str) -> None:
    assert describe_node(name, op_type, **known) == text
