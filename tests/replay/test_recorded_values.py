"""What a generated script says of results that are not those of the recording."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import tensorflow as tf

from tensortap.capture.tap import Tap
from tensortap.capture.watching.step_schedule import every
from tensortap.capture.watching.watch import Watch
from tensortap.dump.recording.recording_files import find_recordings, read_recording
from tensortap.replay import report_differences
from tensortap.replay.execution.loaded_call import RecordedInputs


def test_other_bits_are_reported_with_what_the_step_gives_as_a_graph(tmp_path: Path) -> None:
    with Tap(tmp_path / "run", Watch(steps=[10**6]), record=every(1)) as tap:

        @tap.function
        def double(x: tf.Tensor) -> tf.Tensor:
            return x * 2.0

        double(tf.constant([1.0, 3.0]))
    recording = read_recording(find_recordings(tmp_path / "run")[0].path)
    elsewhere = replace(recording, output_hashes=("0" * 64,))
    with RecordedInputs(recording.arguments) as inputs:
        right, off = tf.constant([2.0, 6.0]), tf.constant([2.0, 6.0 + 2.0**-21])
        assert report_differences(recording, [right], inputs) == [
            "1 of 1 outputs and variables are bit-identical to the recording"
        ]
        reported = report_differences(recording, [off], inputs)
        assert reported[:2] == [
            "0 of 1 outputs and variables are bit-identical to the recording",
            "  output 0: by up to 1 ULP of its largest value",
        ]
        assert reported[2].startswith("The step is bit-identical here")
        assert report_differences(recording, [], inputs)[1] == "  output 0"
        assert "bits also differ" in report_differences(elsewhere, [right], inputs)[-1]
