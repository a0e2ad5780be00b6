"""What dies in the course of a run, and what follows from it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from synthetic_runs import GRADIENT, TRAINING, Fed, findings_of, synthetic_run

from tensortap.analysis.rules.runner import check_rules
from tensortap.analysis.rules.settings import parse_settings
from tensortap.analysis.run_view.hit_counts import Zeros
from tensortap.analysis.run_view.run_view import RunView

ONES, ZERO = np.ones(4, np.float32), np.zeros(4, np.float32)


@pytest.mark.parametrize(
    ("dead", "found"),
    [
        (range(25, 40), [("high", 25, 15)]),  # below half of the steps, but for good
        (range(36, 40), []),  # too short to tell
        (range(20, 30), []),  # it came back
        (range(0, 40), [("high", 0, 40)]),
        (range(0, 30), [("low", 0, 30)]),  # it came back
        ([step for step in range(40) if step % 4], [("low", 1, 30)]),  # one of four experts
        ([*range(1, 10), *range(11, 40)], [("high", 11, 29)]),  # three times as long as ever before
        ([*range(15), *range(20, 40)], [("low", 0, 35)]),  # two tasks by turns, perhaps
    ],
)
def test_a_gradient_that_stays_zero_is_dead(
    tmp_path: Path, dead: Sequence[int], found: list[tuple[str, int, int]]
) -> None:
    fed: list[Fed] = [(GRADIENT.name, ZERO if step in dead else ONES, step) for step in range(40)]
    hits = findings_of("DeadGradient", synthetic_run(tmp_path, TRAINING, fed))
    assert [(hit.severity, hit.first_step, hit.steps) for hit in hits] == found
    for severity, since, steps in found:
        late = f"since step {since}: " if steps < 40 else "is exactly 0: "
        reported = late if severity == "high" else f"at {steps} of 40 captured steps, but recovers: "
        assert reported in hits[0].text


def test_a_gradient_that_is_zero_at_some_visits_of_each_step_is_not_dead(tmp_path: Path) -> None:
    fed: list[Fed] = [(GRADIENT.name, value, step) for step in range(8) for value in (ONES, ZERO)]
    (hit,) = findings_of("DeadGradient", synthetic_run(tmp_path, TRAINING, fed))
    assert (hit.severity, "at 8 of 8 captured steps, but not in every iteration" in hit.text) == ("low", True)


def test_with_no_loss_left_there_is_nothing_to_learn(tmp_path: Path) -> None:
    fed: list[Fed] = [(GRADIENT.name, ONES if step < 20 else ZERO, step) for step in range(40)]
    fed += [("loss", np.float32(max(20 - step, 0)), step) for step in range(40)]
    assert [f.severity for f in findings_of("DeadGradient", synthetic_run(tmp_path, TRAINING, fed))] == [
        "low"
    ]


def test_the_last_steps_are_counted_the_same_however_the_run_grew(tmp_path: Path) -> None:
    """GIVEN steps with several visits, of which one is not zero, at which the run is looked at in between."""
    values = [ONES, ZERO, ZERO, ZERO, ONES, ZERO, ONES, ONES, ZERO, ZERO, ONES, ZERO, ZERO, ZERO]
    steps = [0, 1, 2, 3, 3, 3, 4, 5, 6, 7, 7, 7, 8, 9]
    fed = [(GRADIENT.name, value, step) for value, step in zip(values, steps, strict=True)]
    view = RunView(synthetic_run(tmp_path, TRAINING, fed))
    (tensor,) = view.of_kind("gradient")
    rows = view.rows([tensor])
    for cut in range(1, len(rows)):
        zeros = Zeros()
        zeros.add(rows.part(slice(0, cut)))
        zeros.add(rows.part(slice(cut, None)))
        found = zeros.of(tensor.code)
        assert (found.since, found.lasting, found.passing) == (8, 2, 2)


def test_weights_that_turned_nan_do_not_rest_and_their_cause_comes_first(tmp_path: Path) -> None:
    nan = np.full(4, np.nan, np.float32)
    fed: list[Fed] = [("w", ONES, 0), ("product", nan, 0), ("loss", np.float32(np.nan), 0), ("x", ONES, 0)]
    for step in range(1, 8):
        fed += [("w", nan, step), (GRADIENT.name, ZERO, step)]
    found = check_rules(synthetic_run(tmp_path, TRAINING, fed, keep="value")).findings
    assert [f.rule for f in found if f.severity == "high"] == ["ExplodingTensor", "DeadGradient"]
    assert "UnchangedTensor" not in {f.rule for f in found}


def test_weights_rest_whose_gradient_is_zero(tmp_path: Path) -> None:
    fed: list[Fed] = [("w", ONES, step) for step in range(8)]
    fed += [(GRADIENT.name, ZERO, step) for step in range(8)]
    run, alone = synthetic_run(tmp_path, TRAINING, fed), parse_settings({"DeadGradient": {"enabled": False}})
    (found,) = findings_of("UnchangedTensor", run, alone)
    assert (found.severity, found.text.endswith("because its gradient is exactly 0.")) == ("low", True)
    assert findings_of("UnchangedTensor", run) == []  # DeadGradient says so, and why
