"""`Tap(budget=…)` captures as many of the watched steps as fit into a share of the training's time."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
import tensorflow as tf
from dumped import Dumped

from tensortap.capture.tap import Tap
from tensortap.capture.watching.step_budget import StepBudget
from tensortap.capture.watching.watch import Watch

PLAIN = 0.010  # seconds of a step


def captured(share: float, extra: float, steps: int, writer: float = 0.0) -> tuple[list[int], list[float]]:
    """Which of some steps are captured, and what is reported; capture adds `extra` to a step of 10 ms."""
    reports: list[float] = []
    budget = StepBudget(share, lambda plain, extra: reports.extend((plain, extra)))
    found, busy = [], 0.0
    for step in range(steps):
        admitted = budget.admits()
        setup = 2.0 if not found else 0.0
        if admitted:
            found.append(step)
            busy += writer
        budget.note(PLAIN + admitted * (extra + setup), busy, captured=admitted)
    return found, reports


@pytest.mark.parametrize("share", [0.03, 0.2])
@pytest.mark.parametrize(("extra", "writer"), [(0.020, 0.0), (0.005, 0.015)])
def test_capture_takes_at_most_its_share(share: float, extra: float, writer: float) -> None:
    steps, reports = captured(share, extra, 2000, writer)
    spent = (len(steps) - 1) * (extra + writer)  # the first one is setup
    total = 1998 * PLAIN + (len(steps) - 1) * extra
    assert 0.9 * share < spent / total <= share
    assert reports == pytest.approx([PLAIN, extra + writer])


def test_steps_are_spread_evenly() -> None:
    steps, _ = captured(0.1, 0.020, 400)
    assert steps[:2] == [0, 3]  # step 1 is TensorFlow's first, step 2 tells what a plain one takes
    gaps = {later - earlier for earlier, later in pairwise(steps[2:])}
    assert gaps <= {17, 18, 19, 20}


def test_all_steps_are_captured_if_that_costs_nothing() -> None:
    steps, reports = captured(0.03, 0.0, 50)
    assert steps == [0, *range(3, 50)]
    assert reports == []


def test_a_tap_keeps_to_its_budget(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with Tap(tmp_path / "r", Watch(steps=2), budget=0.05) as tap:
        budget = tap._state.budget
        assert budget is not None
        now = [0.0]
        monkeypatch.setattr(budget, "clock", lambda: now[0])
        monkeypatch.setattr(tap._state.writer_thread, "busy", 0.0)

        @tf.function
        def work(x: tf.Tensor) -> tf.Tensor:
            return tf.sin(x)

        for _ in range(200):
            with tap.step():
                work(tf.ones([3]))
                now[0] += PLAIN
                if tap._steps.current and tap._steps.current.watches:
                    now[0] += 2 * PLAIN
    steps = Dumped(tmp_path / "r").steps
    assert steps[:2] == [0, 4] and all(step % 2 == 0 for step in steps)
    assert 3 <= len(steps) <= 7
    (event,) = Dumped(tmp_path / "r").events("unseen")
    assert "to keep the cost below 5 %" in event["text"]
    assert "Tap(budget=…)" in capsys.readouterr().err
