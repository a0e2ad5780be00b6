"""`Tap(budget=…)` captures as many of the watched steps as fit into a share of the training's time."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import keras
import pytest
import tensorflow as tf
from dumped import Dumped

from tensortap.capture.tap import Tap
from tensortap.capture.watching.step_budget import Level, StepBudget
from tensortap.capture.watching.watch import Watch

PLAIN = 0.010  # seconds of a step


def captured(
    share: float,
    extra: float,
    steps: int,
    writer: float = 0.0,
    *,
    of_roles: float | None = None,
    setup: float = 2.0,
) -> tuple[dict[Level, list[int]], list[float]]:
    """Which of some steps are captured, and what is reported; capture adds `extra` to a step of 10 ms, and
    `of_roles` where only tensors with a role are captured. The first of each takes `setup` seconds more."""
    reports: list[float] = []

    def first(seconds: float, plain: float) -> None:
        reports.extend((seconds, plain))

    budget = StepBudget(share, lambda plain, extra, roles: reports.extend((plain, extra, roles)), first)
    found: dict[Level, list[int]] = {"all": [], "roles": [], "": []}
    costs: dict[Level, float] = {"all": extra, "roles": of_roles or 0.0, "": 0.0}
    busy = 0.0
    for step in range(steps):
        level = budget.admits(roles=of_roles is not None)
        more = setup if level and not found[level] else 0.0
        found[level].append(step)
        busy += writer if level else 0.0
        budget.note(PLAIN + costs[level] + more, busy, level=level)
    return found, reports


@pytest.mark.parametrize("share", [0.03, 0.2])
@pytest.mark.parametrize(("extra", "writer"), [(0.020, 0.0), (0.005, 0.015)])
def test_capture_takes_at_most_its_share(share: float, extra: float, writer: float) -> None:
    found, reports = captured(share, extra, 20_000, writer)
    steps = found["all"]
    spent = len(steps) * (extra + writer) + 2.0
    total = 19_999 * PLAIN + len(steps) * extra + 2.0
    assert 0.9 * share < spent / total <= share
    assert reports == pytest.approx([PLAIN + extra + 2.0, PLAIN, PLAIN, extra + writer, False])


def test_no_step_is_captured_until_the_first_one_fits() -> None:
    first, second = captured(0.03, 0.0, 10_000)[0]["all"][:2]
    assert first == 0
    assert 0.03 * (second - 1) * PLAIN <= 2.0 <= 0.03 * ((second + 1) * PLAIN + 2.0)


def test_steps_are_spread_evenly() -> None:
    steps = captured(0.1, 0.020, 400, setup=0.0)[0]["all"]
    gaps = {later - earlier for earlier, later in pairwise(steps[2:])}
    assert gaps <= {17, 18, 19, 20}


def test_all_steps_are_captured_if_that_costs_nothing() -> None:
    found, reports = captured(0.03, 0.0, 50, of_roles=0.0, setup=0.0)
    assert found["all"] == [0, *range(3, 50)]
    assert reports == []


def test_tensors_with_a_role_are_captured_more_often() -> None:
    steps = 50_000
    found, reports = captured(0.03, 0.040, steps, of_roles=0.002)
    every, roles = len(found["all"]), len(found["roles"])
    assert reports[2:] == pytest.approx([PLAIN, 0.040, True])
    assert roles > 10 * every
    spent = every * 0.040 + roles * 0.002 + 4.0  # the first of each
    assert 0.028 < spent / (steps * PLAIN + spent) <= 0.03
    assert every * 0.040 + 2.0 == pytest.approx(0.015 * steps * PLAIN, rel=0.1)
    # Before, what their copies take would not have fitted.
    assert found["roles"][0] * PLAIN * 0.015 >= 2.0


def test_equal_times_lead_to_equal_choices() -> None:
    assert captured(0.03, 0.040, 30_000, 0.01, of_roles=0.002) == captured(
        0.03, 0.040, 30_000, 0.01, of_roles=0.002
    )


def test_no_copies_for_roles_in_a_short_training() -> None:
    found, _ = captured(0.03, 0.040, 1000, of_roles=0.002)
    assert found["roles"] == []


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
    assert steps[0] == 0 and all(step % 2 == 0 for step in steps)
    assert 3 <= len(steps) <= 7
    first, event = Dumped(tmp_path / "r").events("unseen")
    assert first["text"].startswith("The first captured step took")
    assert "skipped for about 1 s of steps, until capture is 5 % of the time" in first["text"]
    assert json.loads((tmp_path / "r" / "run.json").read_text())["info"]["budget"] == (
        "capture takes at most 5 % of the time of all steps"
    )
    assert "to keep the cost below 5 %" in event["text"]
    assert "Tap(budget=…)" in capsys.readouterr().err


def test_between_full_steps_a_tap_captures_tensors_with_a_role(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def train(tap: Tap | None) -> list[float]:
        weight, optimizer = tf.Variable([1.0, 2.0], name="w"), keras.optimizers.Adam(0.1)

        @tf.function
        def work() -> tf.Tensor:
            with tf.GradientTape() as tape:
                loss = tf.reduce_sum(tf.sin(weight) ** 2)
            optimizer.apply(tape.gradient(loss, [weight]), [weight])
            return loss

        losses = []
        for _ in range(300):
            if tap is None:
                losses.append(float(work()))
                continue
            with tap.step():
                losses.append(float(work()))
                current = tap._steps.current
                assert current is not None
                now[0] += PLAIN
                if current.watches:
                    now[0] += PLAIN / 10 if current.watched.only_roles else 4 * PLAIN
        return losses

    now = [0.0]
    with Tap(tmp_path / "r", Watch(steps=1), budget=0.2) as tap:
        budget = tap._state.budget
        assert budget is not None
        monkeypatch.setattr(budget, "clock", lambda: now[0])
        monkeypatch.setattr(tap._state.writer_thread, "busy", 0.0)
        losses = train(tap)
    run = Dumped(tmp_path / "r")
    nodes = {step: {row.name for row in run.rows if row.step == step} for step in run.steps}
    most = max(map(len, nodes.values()))
    full = [step for step, found in nodes.items() if len(found) == most]
    reduced = [step for step, found in nodes.items() if len(found) < most]
    assert 3 <= len(full) <= 15
    assert len(reduced) > 150
    assert {len(nodes[step]) for step in reduced} == {3}  # loss, gradient and weight
    assert losses == train(None)
    _, event = run.events("unseen")
    assert "or reduced to losses, gradients, weights and layer outputs" in event["text"]
    assert event["text"][1:] in capsys.readouterr().err
