"""A column of the input that is the label, and what merely equals one: rewards, rare labels."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from synthetic_runs import GRADIENT, TRAINING, Fed, findings_of, node, synthetic_run

from tensortap.analysis.rules.finding import Finding
from tensortap.core.records import Node

Y = node("y", "Placeholder", kind="input")
NEXT = node("next", "MatMul", "x", "w")
ERROR = node("error", "SquaredDifference", "product", "y")
COMPARED = (Y, ERROR, node("loss", "Mean", "error"))
GOAL = (Y, NEXT, node("goal", "AddV2", "y", "next"), node("error", "Sub", "goal", "product"))
LIKELY = (Y, node("log", "Log", "product"), node("weighed", "Mul", "log", "y"))
RANDOM = np.random.default_rng(0)
MEASURED = RANDOM.normal(size=(10, 32, 3)).astype(np.float32)
ONCE = np.zeros_like(MEASURED)
ONCE[3, 5, 1] = 1  # a single sample of 320


@pytest.mark.parametrize(
    ("nodes", "inputs", "found"),
    [
        (
            COMPARED,
            MEASURED,
            ["Column 1 of x:0 predicts the label y:0: their correlation is 1 over 320 samples."],
        ),
        (COMPARED, ONCE, []),
        (COMPARED, MEASURED[..., 1:2], []),
        ((*GOAL, node("loss", "Mean", "error")), MEASURED, []),
        ((*LIKELY, node("loss", "Mean", "weighed")), MEASURED, []),
    ],
    ids=["label", "once", "line", "reward", "advantage"],
)
def test_only_a_label_that_the_output_is_compared_with_leaks(
    tmp_path: Path, nodes: tuple[Node, ...], inputs: np.ndarray, found: list[str]
) -> None:
    fed: list[Fed] = [("x", value, step) for step, value in enumerate(inputs)]
    fed += [("y", value[:, value.shape[1] // 2], step) for step, value in enumerate(inputs)]
    fed += [(GRADIENT.name, np.ones(3, np.float32), step) for step in range(len(inputs))]
    run = synthetic_run(tmp_path, (*TRAINING[:3], *nodes, GRADIENT), fed, keep="value")
    hits = findings_of("LabelInInput", run)
    assert [(hit.severity, hit.text) for hit in hits] == [("high", text) for text in found]


HEAD = (node("v", "ReadVariableOp", kind="weight", of="head/kernel"), node("second", "MatMul", "z", "v"))


def test_of_several_measured_labels_some_may_be_inputs(tmp_path: Path) -> None:
    z = node("z", "Placeholder", kind="input"), node("apart", "SquaredDifference", "product", "z")
    nodes = (*TRAINING[:3], *COMPARED[:2], *z, node("loss", "AddN", "error", "apart"), GRADIENT)
    labels = {"x": MEASURED, "y": MEASURED[..., 1]}
    assert len(_leaks(tmp_path / "one", nodes, labels)) == 1
    assert _leaks(tmp_path / "several", nodes, labels | {"z": MEASURED[..., 2]}) == []


def test_a_class_that_another_branch_takes_does_not_leak(tmp_path: Path) -> None:
    """As of a conditional decoder beside a classifier."""
    classes = np.random.default_rng(1).integers(0, 2, (10, 32))
    fed = {"x": MEASURED, "y": classes, "z": np.eye(2, dtype=np.float32)[classes]}
    z = node("z", "Placeholder", kind="input")
    apart = (*TRAINING[:3], *COMPARED[:2], z, *HEAD, node("loss", "AddN", "error", "second"), GRADIENT)
    assert _leaks(tmp_path / "apart", apart, fed) == []
    joined = node("both", "AddV2", "product", "second"), node("error", "SquaredDifference", "both", "y")
    together = (*TRAINING[:3], Y, z, *HEAD, *joined, node("loss", "Mean", "error"), GRADIENT)
    assert len(_leaks(tmp_path / "together", together, fed)) == 1


@pytest.mark.parametrize(("shift", "found"), [(0, ["medium"]), (1, [])])
def test_labels_that_are_the_tokens_themselves(tmp_path: Path, shift: int, found: list[str]) -> None:
    tokens = np.random.default_rng(1).integers(0, 9, (10, 32, 5))
    nodes = (*TRAINING[:3], *COMPARED, GRADIENT)
    hits = _leaks(tmp_path, nodes, {"x": tokens[..., :4], "y": tokens[..., shift : 4 + shift]})
    assert [hit.severity for hit in hits] == found
    assert all("at all 4 positions" in hit.text for hit in hits)


def _leaks(folder: Path, nodes: tuple[Node, ...], batches: dict[str, np.ndarray]) -> list[Finding]:
    fed: list[Fed] = [(name, each, at) for name, some in batches.items() for at, each in enumerate(some)]
    fed += [(GRADIENT.name, np.ones(3, np.float32), step) for step in range(10)]
    return findings_of("LabelInInput", synthetic_run(folder, nodes, fed, keep="value"))
