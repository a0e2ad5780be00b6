"""Advice that fits the cause: targets that number classes, lost updates, weights that shrink."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from synthetic_runs import GRADIENT, TRAINING, WEIGHT, Fed, X, findings_of, node, synthetic_run

from tensortap.analysis.nonfinite.patterns.unary import overflow_help
from tensortap.core.records import Node

ONES = np.ones(4, np.float32)
SOME = np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4)


@pytest.mark.parametrize(
    ("targets", "keep", "help_text"),
    [
        (np.array([0, 1, 2], np.int32), "summary", "SparseCategoricalCrossentropy"),
        (np.array([0, 1, 2], np.float32), "value", "SparseCategoricalCrossentropy"),
        (np.array([0, 1.5, 2], np.float32), "value", "Scale the targets"),
        (np.array([-2, 1, 2], np.float32), "value", "Scale the targets"),
    ],
)
def test_targets_that_number_classes_call_for_another_loss(
    tmp_path: Path, targets: Any, keep: str, help_text: str
) -> None:
    target = node("y", "Placeholder", kind="input", dtype=str(targets.dtype))
    cast, output = node("cast", "Cast", "y"), node("output", "Softmax", "product")
    error = node("error", "SquaredDifference", "output", "cast")
    nodes = (*TRAINING[:3], target, cast, output, error, node("loss", "Mean", "error"), GRADIENT)
    fed: list[Fed] = [("y", targets, step) for step in range(8)]
    fed += [(GRADIENT.name, ONES, step) for step in range(8)]
    (hit,) = findings_of("TargetOutOfRange", synthetic_run(tmp_path, nodes, fed, keep=keep))
    assert hit.severity == "high"
    assert help_text in hit.help


def test_another_dtype_is_advised_only_if_it_has_a_larger_range() -> None:
    found = {dtype: "float32" in overflow_help(dtype) for dtype in ("float16", "bfloat16", "float32")}
    assert found == {"float16": True, "bfloat16": False, "float32": False}


@pytest.mark.parametrize(("update", "found"), [("adam/Sqrt", True), ("sgd/Mul", False)])
def test_the_epsilon_is_named_only_beside_adam(tmp_path: Path, update: str, found: bool) -> None:
    nodes = (*TRAINING, node(update, "Mul", "x"))
    fed: list[Fed] = [(GRADIENT.name, SOME * 1e-9, step) for step in range(8)]
    (hit,) = findings_of("VanishingGradient", synthetic_run(tmp_path, nodes, fed))
    assert ("epsilon" in hit.help) is found


def test_the_number_that_is_no_probability_is_shown(tmp_path: Path) -> None:
    bounds = [
        replace(node(name, "Const"), attributes={"value": f"float32() {value}"})
        for name, value in (("low", "1e-7"), ("high", "0.9999999"))
    ]
    clipped = node("under", "Minimum", "product", "high"), node("clipped", "Maximum", "under", "low")
    loss = node("log", "Log", "clipped"), node("loss", "Sum", "log", kind="loss")
    nodes = (*TRAINING[:3], *bounds, *clipped, *loss, GRADIENT)
    fed: list[Fed] = [("product", SOME * 0.4, step) for step in range(8)]
    (hit,) = findings_of("LossInputMismatch", synthetic_run(tmp_path, nodes, fed))
    (evidence,) = hit.evidence
    assert (evidence.name, evidence.value, evidence.limit) == ("min", pytest.approx(-0.4), 0.0)


@pytest.mark.parametrize(
    ("targets", "complement", "found"),
    [
        (np.array([1, 3.5, 5], np.float32), True, 1),
        (np.array([0, 0.5, 1], np.float32), True, 0),
        (np.array([-1, 0.5, 3], np.float32), False, 0),  # an advantage times a log-probability
    ],
)
def test_targets_of_a_binary_cross_entropy_are_in_0_to_1(
    tmp_path: Path, targets: Any, complement: bool, found: int
) -> None:
    target, log = node("y", "Placeholder", kind="input"), node("log", "Log", "product")
    one = replace(node("one", "Const"), attributes={"value": "float32() 1.0"})
    rest = node("rest", "Sub", "one" if complement else "log", "y")
    product = node("likely", "Mul", "log", "y")
    nodes = (*TRAINING[:3], target, log, one, rest, product, node("loss", "Mean", "likely"), GRADIENT)
    fed: list[Fed] = [("y", targets, step) for step in range(8)]
    fed += [(GRADIENT.name, ONES, step) for step in range(8)]
    hits = findings_of("TargetOutOfRange", synthetic_run(tmp_path, nodes, fed))
    texts = ["The targets y:0 range from 1 to 5, but a binary cross-entropy expects 0 … 1."]
    assert [hit.text for hit in hits] == texts * found


@pytest.mark.parametrize(("is_set", "text"), [(True, "check momentum"), (False, "with training=True")])
def test_a_moving_mean_that_each_step_sets_stays_by_its_momentum(
    tmp_path: Path, is_set: bool, text: str
) -> None:
    handle = node("m_handle", "_Arg", dtype="resource", of="norm/moving_mean")
    mean = node("m", "ReadVariableOp", "m_handle", kind="weight", of="norm/moving_mean")
    mean = replace(mean, attributes=mean.attributes | {"tensortap.trainable": "false"})
    update = [node("set", "AssignVariableOp", "m_handle", "m")] if is_set else []
    gradient = node("gradient_tape/n", "Sum", "x", kind="gradient", of="norm/gamma")
    fed: list[Fed] = [(name, ONES, step) for step in range(8) for name in ("m", gradient.name)]
    nodes: tuple[Node, ...] = (X, handle, mean, *update, gradient)
    (hit,) = findings_of("UnchangedTensor", synthetic_run(tmp_path, nodes, fed))
    assert (hit.severity, text in hit.text, "at inference" in hit.help) == ("high", True, True)


def test_lost_updates_in_float32_are_too_small(tmp_path: Path) -> None:
    """GIVEN weights of 1 that a gradient of 1e-12 does not change: a copy in float32 would not, either."""
    fed: list[Fed] = [("w", 1 + 0 * SOME, step) for step in range(6)]
    fed += [(GRADIENT.name, 1e-12 * SOME, step) for step in range(6)]
    (hit,) = findings_of("AbsorbedUpdate", synthetic_run(tmp_path, (X, WEIGHT, GRADIENT), fed, keep="value"))
    assert "in float32" in hit.text
    assert "float32 copy" not in hit.help
    assert "clipnorm" in hit.help


@pytest.mark.parametrize(("per_step", "found"), [(0.8, 1), (0.97, 0), (1.2, 0)])
def test_kernels_that_are_pulled_to_zero(tmp_path: Path, per_step: float, found: int) -> None:
    fed: list[Fed] = [("w", np.float32(per_step**step) * SOME, step) for step in range(40)]
    fed += [(GRADIENT.name, SOME, step) for step in range(40)]
    hits = findings_of("ShrinkingWeights", synthetic_run(tmp_path, TRAINING, fed))
    assert [(hit.severity, "weight_decay" in hit.help) for hit in hits] == [("high", True)] * found
