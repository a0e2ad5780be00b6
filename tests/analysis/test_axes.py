"""Rules about softmaxes in graphs and captures that are not whole: dropped snapshots, odd constants."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from synthetic_runs import GRADIENT, TRAINING, Fed, findings_of, node, synthetic_run

from tensortap.analysis.rules.runner import check_rules
from tensortap.core.records import Node

LOSSES = [(GRADIENT.name, np.ones(4, np.float32), step) for step in range(4)]


@pytest.mark.parametrize(("mask", "found"), [(0.0, 0), (1e9, 1)])
def test_scores_are_compared_with_those_of_the_same_step(tmp_path: Path, mask: float, found: int) -> None:
    """GIVEN scores that grow, and a snapshot of each side that was dropped THEN only a mask is reported."""
    fixed = node("mask", "Placeholder", kind="input")
    masked, softmax = node("masked", "AddV2", "product", "mask"), node("softmax", "Softmax", "masked")
    nodes = (*TRAINING[:3], fixed, masked, softmax, node("loss", "Sum", "softmax"), GRADIENT)
    scores = [np.array([1, -1], np.float32) * 1e9 ** (0 if mask else step) for step in range(4)]
    fed: list[Fed] = [*LOSSES, *(("product", scores[step], step) for step in (0, 1, 2))]
    fed += [("masked", scores[step] + np.array([mask, 0], np.float32), step) for step in (1, 2, 3)]
    hits = findings_of("MaskSign", synthetic_run(tmp_path, nodes, fed))
    assert len(hits) == found


def constant(name: str, text: str) -> Node:
    return replace(node(name, "Const", dtype="int32"), attributes={"value": text})


def doublings(count: int) -> list[Node]:
    """Zero plus itself, again and again: each takes the one before it twice."""
    zero = constant("sum_0", "int32(3,) [0, 0, 0]")
    sums = [node(f"sum_{i}", "AddV2", *[f"sum_{i - 1}"] * 2, dtype="int32") for i in range(1, count)]
    return [zero, *sums]


@pytest.mark.parametrize(
    ("nodes", "found"),
    [
        ([constant("order", "int32(3,) [0, 2, 1]")], 1),
        ([*doublings(18), constant("to", "int32(3,) [0, 2, 1]"), node("order", "AddV2", "to", "sum_17")], 1),
        (
            [
                *(constant("none", "int32() 0"), constant("many", f"int64() {2**40}")),
                *(constant("one", "int32() 1"), node("order", "Range", "none", "many", "one")),
            ],
            0,
        ),
    ],
)
def test_permutations_are_computed_within_limits(tmp_path: Path, nodes: Sequence[Node], found: int) -> None:
    """GIVEN a permutation that takes 2^18 additions, or 2^40 numbers THEN the first is found at once, and
    the second is unknown."""
    softmax, turned = node("softmax", "Softmax", "product"), node("turned", "Transpose", "softmax", "order")
    entropy = node("entropy", "SparseSoftmaxCrossEntropyWithLogits", "turned", "x")
    cubes = [replace(each, output_shapes=[[2, 3, 4]]) for each in (*TRAINING[:3], softmax)]
    turned = replace(turned, output_shapes=[[2, 4, 3]])
    made = (*cubes, *nodes, turned, entropy, node("loss", "Sum", "entropy"), GRADIENT)
    run = synthetic_run(tmp_path, made, LOSSES)
    assert len(findings_of("SoftmaxAxis", run)) == found
    assert check_rules(run).failed == {}


@pytest.mark.parametrize(("shape", "found"), [([64, 1], 1), ([64], 0)])
def test_a_column_of_flags_beside_values_of_samples_is_reported(
    tmp_path: Path, shape: list[int], found: int
) -> None:
    """As in r + discount * value * (1 - done) with `done` as a column."""
    nodes = (
        *TRAINING[:2],
        replace(node("product", "MatMul", "x", "w"), output_shapes=[[64]]),
        replace(node("done", "Placeholder", kind="input"), output_shapes=[shape]),
        replace(node("one", "Const"), attributes={"value": "float32() 1.0"}),
        replace(node("going", "Sub", "one", "done"), output_shapes=[shape]),
        replace(node("future", "Mul", "product", "going"), output_shapes=[[64, 64] if found else [64]]),
        node("loss", "Sum", "future", kind="loss"),
        GRADIENT,
    )
    fed = [("future", np.ones((64, 64) if found else 64, np.float32), 0)]
    assert len(findings_of("BroadcastLoss", synthetic_run(tmp_path, nodes, fed))) == found
