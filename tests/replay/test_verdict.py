"""Verdicts on nodes: what the judgements mean, and on recorded steps."""

from __future__ import annotations

from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
import tensorflow as tf

from tensortap.__main__ import main
from tensortap.capture import Tap, Watch, every
from tensortap.replay import Request, locate
from tensortap.replay.engine import replay
from tensortap.replay.verdict import judge, moved_by_one_ulp

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
    found = judge(np.array(recorded, F32), np.array(wide), np.array(wide) + moved, [np.ones(2, F32)])
    assert found[0] == judgement


@pytest.mark.parametrize("dtype", [np.float32, np.float16, ml_dtypes.bfloat16])
def test_inputs_move_to_a_neighbour(dtype: type) -> None:
    x = np.array([1.0, -3.0, 0.5, 100.0], dtype)
    moved = moved_by_one_ulp(x)
    assert moved.dtype == x.dtype and (moved != x).all()
    np.testing.assert_allclose(
        moved.astype(float), x.astype(float), rtol=2 * float(ml_dtypes.finfo(dtype).eps)
    )
    integers = np.arange(3)
    assert moved_by_one_ulp(integers) is integers


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
    answer = replay(Request(str(locate(tmp_path / "r", 0, None)), verdicts=True))
    found = {row["tensor"]: row["judgement"] for row in answer["verdicts"]}
    assert answer["identical"] is True
    assert found["large:0"] == "low precision"
    assert {judgement for name, judgement in found.items() if "product" in name} == {"exact"}
    assert "bug in the kernel" not in found.values()
    assert answer["not_judged"]["draws random numbers, others in each dtype"] == 1
    steep = next(row for row in answer["verdicts"] if row["tensor"] == "steep:0")
    assert steep["moved"] > 0.1
    assert steep["visits"] == 1
    loop = [row for row in answer["verdicts"] if "product" in row["tensor"]]
    assert {row["visits"] for row in loop} == {2}

    assert main(["replay", str(tmp_path / "r"), "--verdict", "--nodes", "steep|large"]) == 0
    out = capsys.readouterr().out
    assert "low precision" in out and "large:0" in out and "product" not in out
