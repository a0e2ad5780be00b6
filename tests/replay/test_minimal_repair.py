"""From a step that leaves NaN to the line to be repaired."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import nan_steps
import numpy as np
import pytest
import tensorflow as tf

from tensortap.__main__ import main
from tensortap.capture.tap import Tap
from tensortap.capture.watching.step_schedule import every
from tensortap.capture.watching.watch import Watch
from tensortap.replay.analyses.minimal_repair import MOST_TRIALS, minimize

EXPECTED = {  # kind of the repair, what it says, what stands in the proposed line
    "log_of_softmax": [("stable op", "log_softmax", "tf.math.log(p)")],
    "norm_of_nothing": [("epsilon", "tf.sqrt(x + 1e-07)", "tf.sqrt(tf.reduce_sum(h * h, -1))")],
    "divided_by_spread": [("epsilon", "x / (y + 1e-07)", "h[:1] / spread")],
    "two_places": [
        ("clamp", "tf.exp(tf.minimum(x, 80.0))", "grown"),
        ("epsilon", "tf.math.log(x + 1e-07)", "shrunk"),
    ],
    "masked_rows": [("clamp", "-1e+09 instead of -inf", "tf.where(h[:, :1] > 1")] * 2,
    "times_infinity": [("clamp", "-10000 instead of -inf", "(1.0 - keep) * -np.inf")],
    "half_variance": [("float32 island", "in float32", "squared")],
    "half_sum": [("float32 island", "tf.cast(x, 'float32') before", "h * h")],
    "half_underflow": [("float32 island", "tf.cast(x, 'float32') before, and back after", "tf.nn.softmax")],
    "half_loop": [("float32 island", "tf.cast(x, 'float32') before, and back after", "tf.square(h)")],
}


@pytest.mark.parametrize("name", EXPECTED)
def test_the_smallest_change_names_its_line(ask: Callable[..., Any], tmp_path: Path, name: str) -> None:
    nan_steps.record(tmp_path / name, nan_steps.STEPS[name])
    found = ask(tmp_path / name, "repair", step=0)
    assert found["bad"] and found["origins"] and not found["given"]
    assert len(found["repair"]) == len(EXPECTED[name])
    assert not any("ReadVariableOp" in origin["op_type"] for origin in found["origins"])
    assert found["trials"] <= MOST_TRIALS * 2 // 3
    for repair, (kind, instead, text) in zip(found["repair"], EXPECTED[name], strict=True):
        assert (repair["kind"], Path(repair["file"]).name) == (kind, "nan_steps.py")
        assert instead in repair["instead"] and text in repair["text"]
        if kind == "float32 island":
            assert 1 < len(repair["nodes"]) < 10
        assert instead != "tf.cast(x, 'float32') before" or repair["instead"].endswith("before")


def test_the_command_says_it(tmp_path: Path, capsys: pytest.CaptureFixture[str], in_process: None) -> None:
    nan_steps.record(tmp_path / "r", nan_steps.log_of_softmax)
    assert main(["replay", str(tmp_path / "r"), "--repair"]) == 0
    out, said = capsys.readouterr()
    made, tried = said.index("origin: Log"), said.index("replay 1: trying stable op at Log")
    assert made < tried and "replaying: running step 0" in said
    assert "the smallest change that makes them finite" in out and "tf.nn.log_softmax(z)" in out
    assert "nan_steps.py:" in out and "tf.math.log(p)" in out


def test_a_batch_that_is_not_finite_is_named_by_its_rows(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], in_process: None
) -> None:
    with Tap(tmp_path / "r", Watch(steps=[10**6]), record=every(1)) as tap:

        @tap.function
        def step(x: tf.Tensor) -> tf.Tensor:
            return tf.reduce_sum(tf.tanh(x) - x)

        step(tf.constant([[1.0, 2.0], [3.0, np.inf], [5.0, 6.0], [np.nan, 8.0]]))
    assert main(["replay", str(tmp_path / "r"), "--repair"]) == 0
    out = capsys.readouterr().out
    assert "in rows 1, 3 of x" in out
    assert "The input data contain NaN or Inf, but the variables do not" in out and "--list" not in out


def test_what_was_given_nan_leads_to_the_recording_before(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], in_process: None
) -> None:
    w, used = tf.Variable([1.0, 2.0], name="w"), tf.Variable(0.0, name="used")
    with Tap(tmp_path / "r", Watch(steps=[10**6]), record=every(1)) as tap:

        @tap.function
        def shrink(by: tf.Tensor) -> None:
            w.assign(tf.sqrt(w - by))

        @tap.function
        def use() -> None:
            used.assign(tf.reduce_sum(w))

        for step, by in enumerate([0.5, 0.1, 3.0, 0.0]):
            with tap.step(step):
                shrink(tf.constant(by))
                use()
            tap.flush()  # a busy disk would leave steps out
    for asked in (["--step", "3"], ["--step", "2"]):
        assert main(["replay", str(tmp_path / "r"), *asked, "--repair"]) == 0
        assert "with finite inputs: --step 2 --call 0 --repair" in capsys.readouterr().out
    assert main(["replay", str(tmp_path / "r"), "--step", "2", "--call", "0", "--repair"]) == 0
    assert "tf.sqrt(w - by)" in capsys.readouterr().out
    against = ["--call", "0", "--compare-with", str(tmp_path / "r"), "--compare-step", "1"]
    assert main(["replay", str(tmp_path / "r"), "--step", "0", *against]) == 0
    assert "Sqrt" in capsys.readouterr().out  # the other step's call 0, too, not its last


@pytest.mark.parametrize(("most", "repairs"), [(6, 2), (1, 0)])
def test_a_search_that_was_cut_says_so(
    ask: Callable[..., Any],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    in_process: None,
    monkeypatch: pytest.MonkeyPatch,
    most: int,
    repairs: int,
) -> None:
    nan_steps.record(tmp_path / "r", nan_steps.two_places)
    assert not ask(tmp_path / "r", "repair", step=0)["cut"]
    monkeypatch.setattr("tensortap.replay.analyses.minimal_repair.MOST_TRIALS", most)
    found = ask(tmp_path / "r", "repair", step=0)
    assert found["cut"] and bool(found["repair"]) == bool(repairs)
    main(["replay", str(tmp_path / "r"), "--repair"])
    out = capsys.readouterr().out
    assert (
        "smallest change" not in out and "no known repair" not in out and ("the search hit its limit") in out
    )


def test_nothing_to_repair(ask: Callable[..., Any]) -> None:
    found = ask("loop", "repair")
    assert (found["bad"], found["repair"]) == ([], [])


@pytest.mark.parametrize("needed", [[3], [0, 19], [4, 5, 6], list(range(20))])
def test_the_smallest_part_of_a_list(needed: list[int]) -> None:
    trials = []

    def passes(items: Sequence[int]) -> bool:
        trials.append(items)
        return set(needed) <= set(items)

    assert minimize(range(20), passes) == needed
    assert len(trials) < 120


def test_what_overflows_inside_of_a_finite_step_is_reported(
    ask: Callable[..., Any], tmp_path: Path, capsys: pytest.CaptureFixture[str], in_process: None
) -> None:
    with Tap(tmp_path / "half", Watch(steps=[10**6]), record=every(1)) as tap:

        @tap.function
        def step(x: Any) -> Any:
            return x / tf.sqrt(tf.reduce_sum(tf.square(x, name="large")))  # 1 / inf

        step(tf.constant([300.0, 1.0], tf.float16))
    found = ask(tmp_path / "half", "repair", step=0)
    assert not found["bad"] and [origin["node"] for origin in found["origins"]] == ["large"]
    (island,) = found["repair"]  # the step's result is 0 instead of 1
    assert (island["kind"], island["node"]) == ("float32 island", "large") and not found["left"]
    main(["replay", str(tmp_path / "half"), "--repair"])
    out = capsys.readouterr().out
    assert (
        "nothing to repair" not in out
        and "all outputs and variables of the step are finite" in out
        and "the smallest change that keeps them finite" in out
        and "Some tensors inside the step" in out
        and "origin: large (Square, 1 element)" in out
    )
