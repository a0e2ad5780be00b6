"""A column of the input that is the label, and what merely equals one: rewards, rare labels."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from synthetic_runs import GRADIENT, TRAINING, Fed, findings_of, node, synthetic_run

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
