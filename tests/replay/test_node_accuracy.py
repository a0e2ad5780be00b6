"""Verdicts on nodes: what the judgements mean, and on recorded steps."""

from __future__ import annotations

from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
import tensorflow as tf

from tensortap.__main__ import main
from tensortap.capture.tap import Tap
from tensortap.capture.watching.step_schedule import every
from tensortap.capture.watching.watch import Watch
from tensortap.replay.analyses.error_split import split_error
from tensortap.replay.analyses.node_accuracy import (
    describe_nonfinite,
    judge_output,
    move_by_one_ulp,
    move_inputs,
)
from tensortap.replay.locate import locate
from tensortap.replay.protocol import Request
from tensortap.replay.replayer import replay

F32 = np.float32


@pytest.mark.parametrize(
    ("recorded", "wide", "moved", "judgement"),
    [
        ([1.0, 2.0], [1.0, 2.0], 1e-7, "exact"),
        ([np.nan, np.inf], [np.nan, np.inf], 0, "exact"),
        ([1.0, 2.000004], [1.0, 2.0], 0, "low precision"),
        ([1.0, 2.0], [1.0, 2.1], 0.2, "ill-conditioned"),
        ([1.0, 2.0], [1.0, 2.1], 0, "bug in the kernel"),
        ([1.0, np.nan], [1.0, 2.0], 0, "bug in the kernel"),
        ([1.0, np.inf], [1.0, 1e39], 0, "low precision"),
    ],
)
def test_what_judgements_mean(recorded: list[float], wide: list[float], moved: float, judgement: str) -> None:
    found = judge_output(np.array(recorded, F32), np.array(wide), np.array(wide) + moved, [np.ones(2, F32)])
    assert found[0] == judgement


def test_what_a_mask_hides_is_judged_apart() -> None:
    scores = np.random.default_rng(0).standard_normal((4, 8)).astype(F32)
    mask = np.where(np.arange(8) < 5, 0, -1e9).astype(F32)
    right, wide = scores + mask, scores.astype(float) + mask
    wrong = np.where(mask == 0, right + F32(0.5), right)
    assert judge_output(right, wide, wide, [scores, mask])[0] == "exact"
    kernel = judge_output(wrong, wide, wide, [scores, mask])
    assert kernel[0] == "bug in the kernel" and kernel[1] == pytest.approx(0.5, 1e-5) and kernel[2] < 5
    moved = np.where(mask == 0, right, right * F32(1.5))
    assert judge_output(moved, wide, wide, [scores, mask])[0] == "bug in the kernel"
    outlier = np.array([1e6, 3.0, 2e5], F32)  # no mask: large numbers of many sizes
    assert (
        judge_output(outlier + F32(0.01), outlier.astype(float), outlier.astype(float), [outlier])[0]
        == "exact"
    )


def test_what_a_mask_hides_drifts_apart() -> None:
    scores = np.random.default_rng(0).standard_normal((4, 8)).astype(F32)
    mask = np.where(np.arange(8) < 5, 0, -1e9).astype(F32)
    reference = scores + mask
    wrong = np.where(mask == 0, reference + F32(0.5), reference)
    parts = split_error([wrong], [reference], None)
    assert parts is not None and 0.2 < parts.total < 1
    held = [np.maximum(reference, -32752).astype(np.float16)]  # as float16 holds it
    parts = split_error(held, [reference], [np.maximum(reference, F32(-32752))])
    assert parts is not None and parts.total < 1e-3
    positive = split_error([np.full((4, 8), 32752, np.float16)], [reference], None)
    assert positive is not None and positive.total >= 1


@pytest.mark.parametrize("dtype", [np.float32, np.float16, ml_dtypes.bfloat16])
def test_inputs_move_to_a_neighbour(dtype: type) -> None:
    x = np.array([1.0, -3.0, 0.5, 100.0], dtype)
    moved = move_by_one_ulp(x)
    assert moved.dtype == x.dtype and (moved != x).all()
    np.testing.assert_allclose(
        moved.astype(float), x.astype(float), rtol=2 * float(ml_dtypes.finfo(dtype).eps)
    )
    integers = np.arange(3)
    assert move_by_one_ulp(integers) is integers


def test_rows_say_what_is_not_finite() -> None:
    half = np.array([np.inf, np.nan, 1.0], np.float16)
    assert (
        describe_nonfinite(half, np.array([1e6, np.nan, 1.0]))
        == "1 Inf: overflow of float16, 1 NaN also in float64"
    )
    assert describe_nonfinite(np.array([np.nan], F32), np.ones(1)) == "1 non-finite, but finite in float64"
    assert describe_nonfinite(np.ones(1, F32), np.ones(1)) == ""


def test_whole_exponents_of_negative_numbers_stay() -> None:
    base, exponent = np.array([-2.0, 3.0], F32), np.array([2.0, 0.5], F32)
    moved = move_inputs("Pow", [base, exponent])
    assert (moved[0] != base).all() and moved[1].tolist()[0] == 2.0 and moved[1][1] != 0.5
    assert (move_inputs("Pow", [np.abs(base), exponent])[1] != exponent).all()
    assert (move_inputs("AddV2", [base, exponent])[1] != exponent).all()
    root = judge_output(np.zeros(2, F32), np.zeros(2), np.array([np.nan, 1e-23]), [np.zeros(2, F32)])
    assert root[0] == "exact" and root[3] == 1e-23  # a root of what fell below 0 is no move


def test_a_step_with_cancellation_overflow_and_a_loop(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with Tap(tmp_path / "r", Watch(steps=[9]), record=every(1)) as tap:

        @tap.function
        def step(x: tf.Tensor) -> tf.Tensor:
            cosine = tf.cos(x * 1e7, name="steep")
            half = tf.exp(tf.cast(x, tf.float16) * 12, name="large")
            for _ in tf.range(2):
                x = tf.matmul(x, x, name="product")
            noise = tf.random.stateless_uniform((2, 2), (1, 2))
            return cosine + tf.cast(half, tf.float32) + x + noise

        step(tf.constant([[1.1, 0.2], [0.3, 0.7]]))
    answer = replay(Request(str(locate(tmp_path / "r", 0, None)), accuracy=True))
    found = {row["tensor"]: row["judgement"] for row in answer["verdicts"]}
    assert answer["identical"] is True
    assert found["large:0"] == "low precision"
    notes = {row["tensor"]: row["note"] for row in answer["verdicts"]}
    assert notes["large:0"] == "1 Inf: overflow of float16" and notes["steep:0"] == ""
    assert {judgement for name, judgement in found.items() if "product" in name} == {"exact"}
    assert "bug in the kernel" not in found.values()
    assert answer["not_judged"]["random numbers, which differ in each dtype"] == 1
    steep = next(row for row in answer["verdicts"] if row["tensor"] == "steep:0")
    assert steep["moved"] > 0.1
    assert steep["visits"] == 1
    loop = [row for row in answer["verdicts"] if "product" in row["tensor"]]
    assert {row["visits"] for row in loop} == {2}

    assert main(["replay", str(tmp_path / "r"), "--accuracy", "--nodes", "steep|large"]) == 0
    out = capsys.readouterr().out
    assert "low precision" in out and "large:0" in out and "product" not in out
