"""Recordings name devices of the process that made them; they run on those that there are."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import tensorflow as tf

from tensortap.capture.tap import Tap
from tensortap.capture.watching.step_schedule import every
from tensortap.capture.watching.watch import Watch
from tensortap.dump.recording.recording import array_hash
from tensortap.dump.recording.recording_files import find_recordings, read_recording
from tensortap.replay.execution.loaded_call import LoadedCall, device_here
from tensortap.tf import internals


@pytest.mark.parametrize(
    ("name", "here"),
    [
        ("", ""),
        ("/job:localhost/replica:0/task:0/device:CPU:0", "/device:CPU:0"),
        ("/job:worker/replica:0/task:3/device:CPU:0", "/device:CPU:0"),
        ("/job:worker/replica:0/task:3/device:GPU:63", "/device:CPU:0"),
        ("/device:cpu:0", "/device:CPU:0"),
        ("/job:worker/task:1", "/device:CPU:0"),
    ],
)
def test_a_device_of_another_process_is_one_of_this(name: str, here: str) -> None:
    assert device_here(name) == here


@pytest.mark.parametrize("device", ["CPU:0", "GPU:63"])
def test_a_recording_of_one_of_many_workers_runs_here(tmp_path: Path, device: str) -> None:
    weights = tf.Variable([1.0, 2.0])
    with Tap(tmp_path / "run", Watch(steps=[10**6]), record=every(1)) as tap:

        @tap.function
        def step(x: tf.Tensor) -> tf.Tensor:
            weights.assign_add(x)
            return tf.reduce_sum(weights)

        step(tf.constant([3.0, 4.0]))
    recording = read_recording(find_recordings(tmp_path / "run")[0].path)
    elsewhere = f"/job:worker/replica:0/task:1/device:{device}"
    functions = internals.definitions(recording.library)
    for function in functions:
        for node in function.node_def:
            node.device = elsewhere
    arguments = tuple(replace(argument, device=elsewhere) for argument in recording.arguments)
    assert {argument.kind for argument in arguments} == {"tensor", "variable"}
    with LoadedCall(replace(recording, arguments=arguments, library=internals.library(functions))) as call:
        again = call.run(lambda candidate: True)
    assert again.failure is None
    assert tuple(map(array_hash, again.outputs)) == recording.output_hashes
    assert again.variables and len(again.tensors) > 2
