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


def test_a_loss_that_always_was_zero_is_not_fitted(tmp_path: Path) -> None:
    """GIVEN sample weights that are 0."""
    fed: list[Fed] = [(name, 0 * ONES, step) for step in STEPS for name in ("loss", GRADIENT.name)]
    run = synthetic_run(tmp_path, TRAINING, fed)
    (loss,), (gradient, *_) = findings_of("LossNotDecreasing", run), findings_of("DeadGradient", run)
    assert loss.severity == gradient.severity == "high"
    assert loss.text == "The loss is exactly 0 at all 40 captured steps: nothing is learned from it."


def test_gradients_vanish_with_the_loss(tmp_path: Path) -> None:
    for name, least, severity in (("converged", 1e-13, "low"), ("stuck", 0.5, "high")):
        fed: list[Fed] = [(GRADIENT.name, ONES if step < 10 else 1e-9 * ONES, step) for step in STEPS]
        fed += [("loss", np.float32(max(10.0 ** -(2 * step), least)), step) for step in STEPS]
        hits = findings_of("VanishingGradient", synthetic_run(tmp_path, TRAINING, fed, name=name))
        assert [hit.severity for hit in hits] == [severity]


def test_gradients_of_a_small_loss_do_not_vanish(tmp_path: Path) -> None:
    """GIVEN weights that change WHEN the last layer gets as small a gradient THEN it isn't the way there."""
    last = (
        node("v", "ReadVariableOp", kind="weight", of="head/kernel"),
        node("end", "MatMul", "product", "v"),
        node("loss", "Sum", "end"),
        node("gradient_tape/h", "MatMul", "x", kind="gradient", of="head/kernel"),
    )
    for name, size, severity in (("small", 1e-8, "medium"), ("vanishing", 1e-3, "high")):
        fed: list[Fed] = [("w", np.float32(2 - step / 40), step) for step in STEPS]
        fed += [(GRADIENT.name, 1e-8 * ONES, step) for step in STEPS]
        fed += [("gradient_tape/h", size * ONES, step) for step in STEPS]
        run = synthetic_run(tmp_path, (*TRAINING[:3], *last, GRADIENT), fed, name=name)
        hits = [hit for hit in findings_of("VanishingGradient", run) if hit.tensor == f"{GRADIENT.name}:0"]
        assert hits[0].severity == severity
        assert ("Check the scale of the loss" in hits[0].help) == (name == "small")


@pytest.mark.parametrize(("steps", "severity"), [(80, "medium"), (120, "high")])
def test_a_short_plateau_may_be_a_slow_start(tmp_path: Path, steps: int, severity: str) -> None:
    fed: list[Fed] = [("loss", np.float32(0.69 + 0.01 * (step % 2)), step) for step in range(steps)]
    fed += [(GRADIENT.name, ONES, step) for step in range(steps)]
    hits = findings_of("LossNotDecreasing", synthetic_run(tmp_path, TRAINING, fed))
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
        (
            [1.0, 0.7, 1.5, 1.1, 0.6, 1.4, 0.9, 1.2] * 60,
            "high",
        ),  # small batches: one may be far below another
        ([1.0, 0.7, 1.5, 1.1, 0.6, 1.4, 0.9, 1.2] * 5, "medium"),  # so few may hide a decrease
        ([*np.linspace(1, 2, 20)], "medium"),  # too few
        ([*np.linspace(1, 2, 40)], "high"),
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


@pytest.mark.parametrize("seed", range(10))
def test_a_loss_that_only_scatters_does_not_grow(tmp_path: Path, seed: int) -> None:
    """GIVEN consecutive losses that are alike: thirds differ by more than those of independent ones would."""
    noise = np.random.default_rng(seed).normal(0, 0.05, 80)
    noise = np.convolve(noise, np.ones(8), "valid")[:60]
    fed: list[Fed] = [("loss", np.float32(1 + value), step) for step, value in enumerate(noise)]
    fed += [(GRADIENT.name, ONES, step) for step in STEPS]
    hits = findings_of("LossNotDecreasing", synthetic_run(tmp_path, TRAINING, fed))
    assert [hit for hit in hits if hit.severity == "high" and "grew" in hit.text] == []


RETURNS = node("returns", "Placeholder", kind="input")
LOG = node("log", "Log", "product")
WEIGHED = (node("weighed", "Mul", "log", "returns"), node("loss", "Sum", "weighed"), GRADIENT)
RISING: list[Fed] = [("loss", np.float32(1 + step), step) for step in STEPS]
RISING += [(GRADIENT.name, ONES, step) for step in STEPS]


@pytest.mark.parametrize(
    ("values", "severity"),
    [
        ([np.array([step - 5, 2], np.float32) for step in STEPS], "low"),  # advantages
        ([np.array([2 + step, 2], np.float32) for step in STEPS], "low"),  # returns
        ([np.array([0.5, 2], np.float32) for _ in STEPS], "high"),  # weights of two classes
    ],
)
def test_the_objective_of_a_policy_gradient_need_not_decrease(
    tmp_path: Path, values: list[np.ndarray], severity: str
) -> None:
    fed = [*RISING, *(("returns", value, step) for step, value in enumerate(values))]
    run = synthetic_run(tmp_path, (*TRAINING[:3], RETURNS, LOG, *WEIGHED), fed)
    (hit,) = findings_of("LossNotDecreasing", run)
    assert (hit.severity, "policy gradient" in hit.text) == (severity, severity == "low")


@pytest.mark.parametrize(("least", "severity"), [(-1, "low"), (0, "high")])
def test_a_factor_without_gradient_is_an_advantage_if_it_has_both_signs(
    tmp_path: Path, least: float, severity: str
) -> None:
    """The weight of a focal loss, in 0 … 1, is none."""
    factor = node("returns", "StopGradient", "product")
    fed = [*RISING, *(("returns", np.array([least, step / 40], np.float32), step) for step in STEPS)]
    run = synthetic_run(tmp_path, (*TRAINING[:3], factor, LOG, *WEIGHED), fed)
    (hit,) = findings_of("LossNotDecreasing", run)
    assert (hit.severity, "policy gradient" in hit.text) == (severity, severity == "low")


@pytest.mark.parametrize(
    ("ends", "changes", "severity"),
    [("StopGradient", False, "medium"), ("Relu", True, "medium"), ("Relu", False, "high")],
)
def test_an_error_against_numbers_of_a_network_that_changes_need_not_decrease(
    tmp_path: Path, ends: str, changes: bool, severity: str
) -> None:
    """GIVEN targets of the trained weights behind `stop_gradient`, or of other weights: a target network, or
    a teacher, which stays as it is."""
    stops = ends == "StopGradient"
    other = node("v", "ReadVariableOp", kind="weight", of="target/kernel")
    value = node("value", "MatMul", "x", "w" if stops else "v")
    error = (node("goal", ends, "value"), node("error", "SquaredDifference", "product", "goal"))
    nodes = (*TRAINING[:3], other, value, *error, node("loss", "Mean", "error"), GRADIENT)
    fed = [*RISING, *(("v", ONES * (1 + changes * step), step) for step in STEPS)]
    (hit,) = findings_of("LossNotDecreasing", synthetic_run(tmp_path, nodes, fed))
    assert (hit.severity, "computes its targets" in hit.text) == (severity, severity == "medium")
