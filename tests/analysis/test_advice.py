"""Advice that fits the cause: targets that number classes, lost updates, weights that shrink."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from synthetic_runs import GRADIENT, TRAINING, WEIGHT, Fed, X, findings_of, node, synthetic_run

from tensortap.core.records import Node

ONES = np.ones(4, np.float32)
SOME = np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4)


@pytest.mark.parametrize(
    ("targets", "keep", "help_text"),
    [
        (np.array([0, 1, 2], np.int32), "summary", "SparseCategoricalCrossentropy"),
        (np.array([0, 1, 2], np.float32), "value", "SparseCategoricalCrossentropy"),
        (np.array([0, 1.5, 2], np.float32), "value", "Remove the activation"),
        (np.array([-2, 1, 2], np.float32), "value", "Remove the activation"),
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
