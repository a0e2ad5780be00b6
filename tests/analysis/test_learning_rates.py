"""Learning rates that a schedule computes, and losses that fall by less than they scatter."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from synthetic_runs import GRADIENT, TRAINING, Fed, findings_of, node, synthetic_run

from tensortap.core.records import Node


def scalar(name: str, op_type: str, *inputs: str, dtype: str = "float32", of: str = "") -> Node:
    return replace(node(name, op_type, *inputs, dtype=dtype, of=of), output_shapes=[[]])


# The rate is 0.001 * base ** count; Adam corrects it by beta ** (count + 1).
SCHEDULE = (
    scalar("adam/count", "ReadVariableOp", dtype="int64", of="adam/iteration"),
    scalar("adam/count_float", "Cast", "adam/count"),
    scalar("adam/base", "Const"),
    scalar("adam/pow", "Pow", "adam/base", "adam/count_float"),
    scalar("adam/one_int", "Const", dtype="int64"),
    scalar("adam/next", "AddV2", "adam/count", "adam/one_int", dtype="int64"),
    scalar("adam/next_float", "Cast", "adam/next"),
    scalar("adam/beta_pow", "Pow", "adam/base", "adam/next_float"),
    scalar("adam/alpha", "Mul", "adam/pow", "adam/beta_pow"),
    node("adam/step", "Mul", GRADIENT.name, "adam/alpha"),
    node("handle", "_Arg", dtype="resource", of="dense/kernel"),
    node("adam/update", "AssignSubVariableOp", "handle", "adam/step"),
)


def scheduled(folder: Path, rate: Callable[[int], float], *more: Node) -> list[tuple[str, str, int]]:
    fed: list[Fed] = [("adam/pow", np.float32(rate(step)), step) for step in range(40)]
    fed += [("adam/beta_pow", np.float32(0.9), step) for step in range(40)]
    run = synthetic_run(folder, (*TRAINING, *SCHEDULE, *more), fed)
    return [(found.tensor, found.severity, found.steps) for found in findings_of("LearningRate", run)]


@pytest.mark.parametrize(
    ("rate", "found"),
    [
        (lambda step: 1e-3 * 1.2**step, [("adam/pow:0", "medium", 27)]),
        (lambda step: 1e-3 * 0.5**step, [("adam/pow:0", "medium", 26)]),
        (lambda step: 1e-3 * 0.1**step, [("adam/pow:0", "high", 35)]),  # three quarters of the steps
        (lambda step: 1e-3 * (step < 3), [("adam/pow:0", "high", 37)]),  # a decay over epochs, not steps
        (lambda step: 1e-3, []),
        (lambda step: 1e-3 * (1 - step / 39.0001), []),  # a decay that ends in (nearly) 0
    ],
)
def test_a_rate_that_a_schedule_computes(
    tmp_path: Path, rate: Callable[[int], float], found: list[tuple[str, str, int]]
) -> None:
    assert scheduled(tmp_path, rate) == found


def test_a_schedule_is_followed_to_its_end_for_many_weights(tmp_path: Path) -> None:
    """An optimizer computes it for each weight; the count of steps itself is no rate."""
    nodes, fed = list(TRAINING), list[Fed]()
    for number in range(110):
        scope = f"adam_{number}"
        nodes += [
            scalar(f"{scope}/count", "ReadVariableOp", dtype="int64", of="adam/iteration"),
            scalar(f"{scope}/count_float", "Cast", f"{scope}/count"),
            scalar(f"{scope}/rate", "Exp", f"{scope}/count_float"),
            node(f"{scope}/step", "Mul", GRADIENT.name, f"{scope}/rate"),
            node(f"{scope}/handle", "_Arg", dtype="resource", of="dense/kernel"),
            node(f"{scope}/update", "AssignSubVariableOp", f"{scope}/handle", f"{scope}/step"),
        ]
    for step in range(4):
        fed += [("adam_0/count_float", np.float32(step), step), ("adam_0/rate", np.float32(0.1), step)]
    found = findings_of("LearningRate", synthetic_run(tmp_path, nodes, fed))
    assert [(each.tensor, each.text) for each in found] == [("adam_0/rate:0", "The learning rate is 0.1.")]


def test_a_weight_of_the_loss_is_no_learning_rate(tmp_path: Path) -> None:
    taker = node("gradient_tape/scaled", "Mul", GRADIENT.name, "adam/pow")
    assert scheduled(tmp_path, lambda step: 0.5, taker) == []


@pytest.mark.parametrize(
    ("taker", "update"),
    [
        (("Less", "bool"), "average"),  # an exploration rate
        (("Mul", "float32"), "average"),  # of weights that are averaged
        (("Mul", "float32"), "product"),  # of something else, which the loss takes
    ],
)
def test_what_changes_no_trained_weight_is_no_learning_rate(
    tmp_path: Path, taker: tuple[str, str], update: str
) -> None:
    nodes = (
        scalar("other/share", "Exp", "adam/count_float"),
        node("other/taken", taker[0], "x", "other/share", dtype=taker[1]),
        node("shadow", "_Arg", dtype="resource"),
        node("other/average", "AssignSubVariableOp", "shadow", "other/taken"),
        node("other/product", "Mul", "x", "other/taken"),
        node("other/loss", "Sum", "other/product"),
    )
    ends = {"average": ("other/product", "other/loss"), "product": ("other/average",)}[update]
    left = tuple(each for each in nodes if each.name not in ends)
    fed: list[Fed] = [("other/share", np.float32(0.5 * 2.0**step), step) for step in range(40)]
    run = synthetic_run(tmp_path, (*TRAINING, *SCHEDULE, *left), fed)
    assert findings_of("LearningRate", run) == []


def test_a_rate_that_momentum_takes_is_one(tmp_path: Path) -> None:
    nodes = (
        node("momentum", "_Arg", dtype="resource", of="sgd/momentum"),
        node("sgd/sum", "Mul", GRADIENT.name, "adam/pow"),
        node("sgd/AssignVariableOp", "AssignVariableOp", "momentum", "sgd/sum"),
        node("sgd/read", "ReadVariableOp", "momentum", of="sgd/momentum"),
        node("sgd/AssignSub", "AssignSubVariableOp", "handle", "sgd/read"),
    )
    kept = tuple(each for each in SCHEDULE if each.name not in ("adam/step", "adam/update", "adam/alpha"))
    fed: list[Fed] = [("adam/pow", np.float32(1e-3 * 1.2**step), step) for step in range(40)]
    found = findings_of("LearningRate", synthetic_run(tmp_path, (*TRAINING, *kept, *nodes), fed))
    assert [(each.tensor, each.steps) for each in found] == [("adam/pow:0", 27)]


def test_of_several_schedules_of_one_optimizer_nobody_knows(tmp_path: Path) -> None:
    momentum = (
        scalar("adam/momentum", "Exp", "adam/count_float"),
        node("adam/m", "Mul", "x", "adam/momentum"),
        node("adam/m_update", "AssignSubVariableOp", "handle", "adam/m"),
    )
    assert scheduled(tmp_path, lambda step: 0.5, *momentum) == []


def test_a_fall_within_the_scatter_is_none(tmp_path: Path) -> None:
    scatter = np.random.default_rng(4).normal(size=60) * 0.03
    for name, slope, severities in (("stays", 0.0003, ["medium"]), ("falls", 0.003, [])):
        fed: list[Fed] = [("loss", np.float32(2.3 - slope * n + scatter[n]), n) for n in range(60)]
        fed += [(GRADIENT.name, np.ones(4, np.float32), n) for n in range(60)]
        found = findings_of("LossNotDecreasing", synthetic_run(tmp_path / name, TRAINING, fed))
        assert [finding.severity for finding in found] == severities
        assert all("The loss stayed" in finding.text for finding in found)
        for finding in found:
            assert finding.text.endswith("The decrease is smaller than the noise.")
            assert 0 < finding.evidence[0].value <= finding.evidence[0].limit
