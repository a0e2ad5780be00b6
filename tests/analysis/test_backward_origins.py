"""Births in the backward pass: gradients that the program replaces, and the forward op to be mended."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from synthetic_runs import X, findings_of, node, synthetic_run

from tensortap.analysis.nonfinite.nan_report import nan_report
from tensortap.core.records import Node

CLIPPED = (  # sqrt at 0, and a select that throws the gradient away before it is applied
    X,
    node("root", "Sqrt", "x"),
    node("loss", "Sum", "root"),
    node("gradient_tape/SqrtGrad", "SqrtGrad", "root", "ones"),
    node("ones", "Const"),
    node("gradient_tape/sum", "MatMul", "x", "gradient_tape/SqrtGrad"),
    node("finite", "IsFinite", "gradient_tape/sum", dtype="bool"),
    node("kept", "SelectV2", "finite", "gradient_tape/sum", "zeros"),
    node("zeros", "Const"),
    node("clipped", "Maximum", "kept", "zeros", kind="gradient", of="dense/kernel"),
)


def test_a_gradient_of_nan_that_the_program_replaces_is_not_harmless(tmp_path: Path) -> None:
    nan, inf = np.nan, np.inf
    held = {"x": [0, 4], "root": [0, 2], "loss": 2, "gradient_tape/SqrtGrad": [inf, 0.25]}
    held |= {"gradient_tape/sum": [nan, nan], "finite": [False, False], "kept": [0, 0], "clipped": [0, 0]}
    fed = [
        (name, np.array(value, bool if name == "finite" else np.float32), 0) for name, value in held.items()
    ]
    run = synthetic_run(tmp_path, CLIPPED, fed)
    report = nan_report(run)
    assert [origin.tensor for origin in report.origins] == ["gradient_tape/SqrtGrad:0", "gradient_tape/sum:0"]
    assert report.origins[0].ends.gradients == ["gradient_tape/sum:0"]
    assert [link.tensor for link in report.chain] == ["gradient_tape/SqrtGrad:0", "gradient_tape/sum:0"]
    assert any(
        note.startswith("kept (SelectV2) replaces the NaN or infinite elements in the gradient")
        for note in report.notes
    )
    assert all(origin.aftermath.endswith("it does not reach the weights.") for origin in report.origins)
    assert [finding.severity for finding in findings_of("ExplodingTensor", run)] == ["medium"] * 2


def select(name: str, *inputs: str) -> Node:
    return node(name, "SelectV2", "positive", *inputs)


CLIP_BY_NORM = (  # as tf.clip_by_norm and `clipnorm` do: both selects see NaN, the first alone stays finite
    X,
    node("gradient_tape/g", "SqrtGrad", "x", "ones"),
    node("ones", "Const"),
    node("square", "Mul", "gradient_tape/g", "gradient_tape/g"),
    node("sum", "Sum", "square"),
    node("positive", "Greater", "sum", "zeros", dtype="bool"),
    node("zeros", "Const"),
    select("safe", "sum", "ones"),
    node("root", "Sqrt", "safe"),
    select("norm", "root", "sum"),
    node("clipped", "RealDiv", "gradient_tape/g", "norm"),
    node("handle", "VarHandleOp", dtype="resource"),
    node("update", "AssignSubVariableOp", "handle", "clipped"),
)


@pytest.mark.parametrize("captured", [True, False])
def test_a_select_that_nan_goes_round_keeps_it_from_no_weight(tmp_path: Path, captured: bool) -> None:
    """GIVEN a gradient of NaN clipped by its norm; WHERE `clipped` is not captured nobody knows."""
    nan = np.nan
    held = {"x": [0], "gradient_tape/g": [nan], "square": [nan], "sum": [nan], "safe": [1], "root": [1]}
    held |= {"norm": [nan]} | ({"clipped": [nan]} if captured else {})
    fed = [(name, np.array(value, np.float32), 0) for name, value in held.items()]
    report = nan_report(synthetic_run(tmp_path, CLIP_BY_NORM, fed))
    assert [origin.tensor for origin in report.origins] == ["gradient_tape/g:0"]
    assert report.origins[0].aftermath == ""
    assert not any("replaces the NaN or infinite elements" in note for note in report.notes)


TRAP = (  # tf.where(x > 0, tf.math.log(x), 0): the loss stays finite, the gradient of the logarithm does not
    X,
    node("log", "Log", "x"),
    node("large", "Greater", "x", "zeros", dtype="bool"),
    node("zeros", "Const"),
    node("chosen", "SelectV2", "large", "log", "zeros"),
    node("w", "ReadVariableOp", kind="weight", of="dense/kernel"),
    node("scaled", "Mul", "chosen", "w"),
    node("loss", "Sum", "scaled"),
    node("gradient_tape/SelectV2", "SelectV2", "large", "zeros", "zeros"),
    node("gradient_tape/Reciprocal", "Reciprocal", "x"),
    node("gradient_tape/mul", "Mul", "gradient_tape/SelectV2", "gradient_tape/Reciprocal", kind="gradient"),
)


def test_a_origin_in_the_backward_pass_names_the_forward_op(tmp_path: Path) -> None:
    nan, inf = np.nan, np.inf
    held = {"x": [0, 4], "log": [-inf, 1.4], "chosen": [0, 1.4], "w": 1, "scaled": [0, 1.4], "loss": 1.4}
    held |= {"gradient_tape/SelectV2": [0, 1], "gradient_tape/Reciprocal": [inf, 0.25]}
    held |= {"gradient_tape/mul": [nan, 0.25]}
    fed = [(name, np.array(value, np.float32), 0) for name, value in held.items()]
    report = nan_report(synthetic_run(tmp_path, TRAP, fed))
    origin, (harmless,) = report.origins[0], report.demoted
    assert origin.tensor == "gradient_tape/Reciprocal:0"
    assert origin.forward is not None
    assert (origin.forward.node, origin.forward.op_type, origin.forward.chosen) == ("log", "Log", "chosen")
    assert origin.explanation is not None
    assert (
        origin.explanation.text == "The gradient of log is 1/x, infinite at 0: 1 element of x:0 is exactly 0."
    )
    assert "tf.where(ok, tf.math.log(tf.where(ok, x, 1.0)), 0.0)" in origin.explanation.help
    assert harmless.tensor == "log:0"
    assert harmless.demoted.endswith("the gradient there does not: gradient_tape/Reciprocal:0.")
    assert "not reach the loss, gradients" not in harmless.demoted


def test_a_select_that_takes_the_infinity_leaves_nothing_out(tmp_path: Path) -> None:
    """GIVEN the same program, where the select takes the logarithm of 0."""
    inf = np.inf
    held = {"x": [0, 4], "log": [-inf, 1.4], "chosen": [-inf, 1.4], "w": 1, "scaled": [-inf, 1.4]}
    held |= {"loss": -inf, "gradient_tape/SelectV2": [1, 1], "gradient_tape/Reciprocal": [inf, 0.25]}
    held |= {"gradient_tape/mul": [inf, 0.25]}
    fed = [(name, np.array(value, np.float32), 0) for name, value in held.items()]
    origins = nan_report(synthetic_run(tmp_path, TRAP, fed)).origins
    (origin,) = [origin for origin in origins if origin.tensor == "gradient_tape/Reciprocal:0"]
    assert origin.forward is not None and origin.explanation is not None
    assert (origin.forward.node, origin.forward.chosen) == ("log", "")
    assert "leaves out" not in origin.explanation.help
    assert "two tf.where" in origin.explanation.help


def test_a_loss_that_something_else_spoils_is_not_called_finite(tmp_path: Path) -> None:
    """GIVEN the same logarithm, and beside it the square root of a negative that the loss holds."""
    nan, inf = np.nan, np.inf
    more = (node("y", "Mul", "w", "w"), node("root", "Sqrt", "y"), node("both", "AddV2", "scaled", "root"))
    nodes = (*(each for each in TRAP if each.name != "loss"), *more, node("loss", "Sum", "both"))
    held = {"x": [0, 4], "log": [-inf, 1.4], "chosen": [0, 1.4], "scaled": [0, 1.4], "w": 1, "y": [-1, 4]}
    held |= {"root": [nan, 2], "both": [nan, 3.4], "loss": nan, "gradient_tape/SelectV2": [0, 1]}
    held |= {"gradient_tape/Reciprocal": [inf, 0.25], "gradient_tape/mul": [nan, 0.25]}
    fed = [(name, np.array(value, np.float32), 0) for name, value in held.items()]
    report = nan_report(synthetic_run(tmp_path, nodes, fed))
    assert report.origins[0].tensor == "root:0"
    (harmless,) = report.demoted
    assert "It does not reach the loss, but the gradient there" in harmless.demoted
    assert "stays finite" not in harmless.demoted


def test_the_gradient_of_a_root_names_the_root(tmp_path: Path) -> None:
    held = {"x": [0, 4], "root": [0, 2], "loss": 2, "gradient_tape/SqrtGrad": [np.inf, 0.25]}
    fed = [(name, np.array(value, np.float32), 0) for name, value in held.items()]
    origin = nan_report(synthetic_run(tmp_path, CLIPPED, fed)).origins[0]
    assert origin.forward is not None
    assert origin.forward.node == "root"
    assert origin.explanation is not None
    assert "two tf.where" in origin.explanation.help


@pytest.mark.parametrize(("takes", "forward"), [("logs", "mul"), ("other", None)])
def test_the_gradient_of_an_op_that_takes_what_it_takes_names_it(
    tmp_path: Path, takes: str, forward: str | None
) -> None:
    """GIVEN p * log(q) masked by a select; WHERE the node takes another tensor its name means nothing."""
    logs, other = node("logs", "Placeholder", kind="input"), node("other", "Placeholder", kind="input")
    nodes = (
        *(X, logs, other, node("mul", "Mul", "x", "logs"), node("chosen", "SelectV2", "ok", "mul", "zeros")),
        *(node("ok", "Placeholder", dtype="bool"), node("zeros", "Const"), node("loss", "Sum", "chosen")),
        node("gradient_tape/SelectV2", "SelectV2", "ok", "zeros", "zeros"),
        node("gradient_tape/mul/Mul", "Mul", "gradient_tape/SelectV2", takes, kind="gradient"),
    )
    inf = np.inf
    held = {"x": [1, 0], "logs": [0, -inf], "other": [0, -inf], "mul": [0, np.nan], "chosen": [0, 0]}
    held |= {"loss": 0, "gradient_tape/SelectV2": [1, 0], "gradient_tape/mul/Mul": [0, np.nan]}
    fed = [(name, np.array(value, np.float32), 0) for name, value in held.items()]
    origins = nan_report(synthetic_run(tmp_path, nodes, fed)).origins
    (origin,) = [origin for origin in origins if origin.tensor == "gradient_tape/mul/Mul:0"]
    assert (origin.forward and origin.forward.node) == forward
