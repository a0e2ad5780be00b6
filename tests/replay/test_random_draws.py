"""Analyses of a step that draws from op-level random streams: the draws stay those that were recorded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from tensortap.capture.tap import Tap
from tensortap.capture.watching.step_schedule import every
from tensortap.capture.watching.watch import Watch
from tensortap.dump.recording.recording import Recording
from tensortap.replay.execution.dtype_change import change_dtype
from tensortap.replay.execution.loaded_call import LoadedCall
from tensortap.replay.locate import locate, open_recording
from tensortap.replay.protocol import Request
from tensortap.replay.replayer import replay


@pytest.fixture(scope="module")
def run_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A step with noise, and noise in a loop; each sample stays by itself."""
    path = tmp_path_factory.mktemp("drawn") / "vae"
    x = np.random.default_rng(0).random((6, 4)).astype("f")
    w = tf.Variable(x[:4], name="w")
    with Tap(path, Watch(steps=[10**6]), record=every(1)) as tap:

        @tap.function
        def step(x: tf.Tensor) -> tf.Tensor:
            with tf.GradientTape() as tape:
                z = x @ w + tf.random.normal(tf.shape(x), name="noise")
                for _ in tf.range(3):
                    z = tf.tanh(z + 0.1 * tf.random.uniform(tf.shape(z)))
                loss = tf.reduce_mean((z - x) ** 2)
            w.assign_sub(0.1 * tape.gradient(loss, w))
            return loss

        for _ in range(2):
            step(tf.constant(x))
    return path


@pytest.fixture(scope="module")
def recording(run_dir: Path) -> Recording:
    return open_recording(locate(run_dir, 1, None))


def asked(run_dir: Path, analysis: str, **options: Any) -> Any:
    """What an analysis finds out about step 1; without the runs that other tests share."""
    source = str(locate(run_dir, 1, None))
    return replay(Request(source, analysis=analysis, options=options))["analysis"]


def test_another_dtype_is_given_the_recorded_draws(recording: Recording) -> None:
    drawn = {each.name: each.arrays for each in recording.arguments if each.drawn}
    assert len(drawn) == 2
    with LoadedCall(recording) as plain:
        wide = change_dtype(recording, "float64", plain)
    with LoadedCall(wide) as call:
        again = call.run(lambda candidate: candidate.op_type in ("RandomStandardNormal", "RandomUniform"))
    visits: dict[str, list[Any]] = {}
    for candidate, _, array in again.tensors:
        assert array.dtype == np.float64
        visits.setdefault(candidate.node, []).append(array.astype("f"))
    assert {name: len(arrays) for name, arrays in visits.items()} == {
        name: len(arrays) for name, arrays in drawn.items()
    }
    for name, arrays in drawn.items():
        np.testing.assert_array_equal(np.stack(visits[name]), np.stack(arrays))


@pytest.mark.parametrize("test", ["batch", "gradient"])
def test_the_logic_is_tested_with_the_draws_held(run_dir: Path, test: str) -> None:
    found = asked(run_dir, "test", test=test)
    assert found["passed"], found


def test_a_script_reads_the_draws(run_dir: Path) -> None:
    text = asked(run_dir, "script", bundle="step.tapbundle", script="step.py")["text"]
    assert "tf.raw_ops.IteratorGetNext(" in text
    assert "tf.raw_ops.RandomStandardNormal" not in text
    compile(text, "step.py", "exec")
