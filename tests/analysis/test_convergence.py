"""What is small or zero as nothing is left to learn; what are targets; a loss that jumped."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from synthetic_runs import GRADIENT, TRAINING, WEIGHT, Fed, X, findings_of, node, synthetic_run

ONES = np.ones(4, np.float32)
STEPS = range(40)


def test_a_relu_of_a_hinge_loss_that_is_zero_is_not_dead(tmp_path: Path) -> None:
    nodes = (*TRAINING[:3], node("hinge", "Relu", "product"), node("loss", "Sum", "hinge"), GRADIENT)
    for name, least, severity in (("hinge", 0, "low"), ("dead", 1, "high")):
        fed: list[Fed] = [("hinge", ONES if step < 10 else 0 * ONES, step) for step in STEPS]
        fed += [("loss", np.float32(max(10 - step, least, step == 20)), step) for step in STEPS]
        (hit,) = findings_of("DeadRelu", synthetic_run(tmp_path, nodes, fed, name=name))
        assert hit.severity == severity


def test_gradients_vanish_with_the_loss(tmp_path: Path) -> None:
    for name, least, severity in (("converged", 1e-13, "low"), ("stuck", 0.5, "high")):
        fed: list[Fed] = [(GRADIENT.name, ONES if step < 10 else 1e-9 * ONES, step) for step in STEPS]
        fed += [("loss", np.float32(max(10.0 ** -(2 * step), least)), step) for step in STEPS]
        hits = findings_of("VanishingGradient", synthetic_run(tmp_path, TRAINING, fed, name=name))
        assert [hit.severity for hit in hits] == [severity]


def test_targets_are_no_inputs(tmp_path: Path) -> None:
    """GIVEN a loop without layers, whose targets lie far out: they meet no weight."""
    target = node("y", "Placeholder", kind="input")
    error = node("error", "Sub", "product", "y")
    nodes = (X, WEIGHT, target, node("product", "MatMul", "x", "w"), error, node("loss", "Sum", "error"))
    values = np.linspace(5, 50, 64).astype(np.float32)
    fed: list[Fed] = [(name, values, step) for name in ("x", "y") for step in STEPS]
    hits = findings_of("InputNotNormalized", synthetic_run(tmp_path, (*nodes, GRADIENT), fed))
    assert [hit.tensor for hit in hits] == ["x:0"]


@pytest.mark.parametrize(
    ("captured", "scale", "found"),
    [(True, 0.01, []), (True, 1.0, [("scaled:0", "high")]), (False, 0.01, [("x:0", "low")])],
)
def test_what_the_model_scales_itself_is_judged_behind_that(
    tmp_path: Path, captured: bool, scale: float, found: list[tuple[str, str]]
) -> None:
    product = node("product", "MatMul", "scaled", "w")
    nodes = (X, WEIGHT, node("scaled", "Mul", "x"), product, node("loss", "Sum", "product"), GRADIENT)
    values = np.linspace(-10, 50, 64).astype(np.float32)
    fed: list[Fed] = [("x", values, step) for step in STEPS]
    fed += [("scaled", (values - 20) * scale + 20 * (scale == 1), step) for step in STEPS if captured]
    hits = findings_of("InputNotNormalized", synthetic_run(tmp_path, nodes, fed))
    assert [(hit.tensor, hit.severity) for hit in hits] == found


def test_what_a_batch_normalization_takes_need_not_be_normalized(tmp_path: Path) -> None:
    norm, product = node("norm", "FusedBatchNormV3", "x"), node("product", "MatMul", "norm", "w")
    nodes = (X, WEIGHT, norm, product, node("loss", "Sum", "product"), GRADIENT)
    fed: list[Fed] = [("x", np.linspace(5, 50, 64).astype(np.float32), step) for step in STEPS]
    assert findings_of("InputNotNormalized", synthetic_run(tmp_path, nodes, fed)) == []


@pytest.mark.parametrize(
    ("losses", "text"),
    [
        ([1.2, *np.linspace(200, 20, 39)], "The loss grew from 1.2 at the first step: its median was "),
        ([1.2, *np.linspace(200, 1.5, 39)], ""),  # it came back
        ([0.0, *np.linspace(200, 20, 39)], ""),
    ],
)
def test_a_loss_that_jumped_and_never_came_back_grew(tmp_path: Path, losses: list[float], text: str) -> None:
    fed: list[Fed] = [("loss", np.float32(value), step) for step, value in enumerate(losses)]
    fed += [(GRADIENT.name, ONES, step) for step in STEPS]
    hits = findings_of("LossNotDecreasing", synthetic_run(tmp_path, TRAINING, fed))
    assert [hit.severity for hit in hits] == (["high"] if text else [])
    assert all(hit.text.startswith(text) for hit in hits)


@pytest.mark.parametrize(
    ("losses", "severity"),
    [
        ([1.0, 0.7, 1.5, 1.1, 0.6, 1.4, 0.9, 1.2] * 5, "high"),  # small batches: one may be far below another
        ([9.0] + [1.0, 0.7, 1.5, 1.1, 0.6, 1.4, 0.9, 1.2] * 5, "low"),  # it fell at once
        ([1.0, 0.01, 3.0, 0.2, 0.1, 2.0, 0.02, 1.2] * 5, "low"),  # nobody knows
        ([1.0, 0.7, 1.5, 1.1, -0.6, 1.4, 0.9, 1.2] * 5, "low"),  # as a policy's
    ],
)
def test_a_loss_that_scatters_and_stays_is_clear_unless_it_scatters_by_far(
    tmp_path: Path, losses: list[float], severity: str
) -> None:
    fed: list[Fed] = [("loss", np.float32(value), step) for step, value in enumerate(losses)]
    fed += [(GRADIENT.name, ONES, step) for step in STEPS]
    hits = findings_of("LossNotDecreasing", synthetic_run(tmp_path, TRAINING, fed))
    assert [hit.severity for hit in hits] == [severity]


def test_an_objective_of_both_signs_grows_only_beyond_its_noise(tmp_path: Path) -> None:
    """That of a policy is around 0, whatever it learns."""
    for name, more, grew in (("policy", 0.1, False), ("grows", 5.0, True)):
        fed: list[Fed] = [(GRADIENT.name, ONES, step) for step in STEPS]
        fed += [("loss", np.float32(step % 3 - 1 + more * step / len(STEPS)), step) for step in STEPS]
        (hit,) = findings_of("LossNotDecreasing", synthetic_run(tmp_path, TRAINING, fed, name=name))
        assert (hit.severity == "high", "grew" in hit.text) == (grew, grew)


def test_the_objective_of_a_policy_gradient_need_not_decrease(tmp_path: Path) -> None:
    """GIVEN one of one sign, weighed by an advantage through which no gradient flows."""
    advantage = node("advantage", "StopGradient", "product")
    weighed = node("weighed", "Mul", "product", "advantage")
    nodes = (*TRAINING[:3], advantage, weighed, node("loss", "Sum", "weighed"), GRADIENT)
    for name, program, severity in (("policy", nodes, "low"), ("other", TRAINING, "high")):
        fed: list[Fed] = [(GRADIENT.name, ONES, step) for step in STEPS]
        fed += [("loss", np.float32(1 + step), step) for step in STEPS]
        (hit,) = findings_of("LossNotDecreasing", synthetic_run(tmp_path, program, fed, name=name))
        assert (hit.severity, "policy gradient" in hit.text) == (severity, severity == "low")
