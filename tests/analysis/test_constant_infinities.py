"""Infinities that a program writes out, as in a mask: no fault beside what is made of them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from synthetic_runs import X, findings_of, node, synthetic_run

INF = replace(node("inf", "Const"), attributes={"value": "float32() -inf"})
MASKED = (
    *(X, node("keep", "Placeholder", dtype="bool", kind="input"), INF),
    *(node("masked", "SelectV2", "keep", "x", "inf"), node("soft", "Softmax", "masked")),
    node("loss", "Sum", "soft"),
)
SCORES = np.float32([[1, 2], [3, 4]])


def masked_step(step: int, keep: np.ndarray) -> list[tuple[str, object, int]]:
    masked = np.where(keep, SCORES, np.float32(-np.inf))
    with np.errstate(all="ignore"):
        powers = np.exp(masked - masked.max(axis=1, keepdims=True))
        soft = powers / powers.sum(axis=1, keepdims=True)
    values = {"x": SCORES, "keep": keep, "masked": masked, "soft": soft, "loss": soft.sum()}
    return [(name, value, step) for name, value in values.items()]


def test_a_mask_comes_behind_the_nan_that_is_made_of_it(tmp_path: Path) -> None:
    """GIVEN a mask of -inf that leaves a number of each row, and of one row none from step 2 on."""
    some, none = np.array([[True, False], [True, True]]), np.array([[False, False], [True, True]])
    fed = [each for step in range(4) for each in masked_step(step, some if step < 2 else none)]
    nan, mask = findings_of("ExplodingTensor", synthetic_run(tmp_path, MASKED, fed))
    assert (nan.severity, nan.tensor, nan.first_step) == ("high", "soft:0", 2)
    assert (mask.severity, mask.tensor, mask.first_step, mask.steps) == ("low", "masked:0", 0, 4)
    assert mask.text == "Infinity in masked is a constant in the program."


@pytest.mark.parametrize("number", ["-inf", "nan"])
def test_a_constant_that_reaches_the_loss_is_what_is_wrong(tmp_path: Path, number: str) -> None:
    written = replace(INF, attributes={"value": f"float32() {number}"})
    nodes = (X, written, node("sum", "AddV2", "x", "inf"), node("loss", "Sum", "sum"))
    fed = [(name, np.float32(value), 0) for name, value in (("x", 1), ("sum", number), ("loss", number))]
    (found,) = findings_of("ExplodingTensor", synthetic_run(tmp_path, nodes, fed))
    assert (found.severity, found.tensor) == ("high", "sum:0")
    assert found.text.endswith("in sum is a constant in the program.")
