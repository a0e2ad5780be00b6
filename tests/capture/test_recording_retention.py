"""`Record(keep_last=…)` keeps what was made last, and what triggers chose; steps may come again."""

from __future__ import annotations

import threading
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from tensortap.capture.errors import TapWarning
from tensortap.capture.recording.record_options import Record, RecordingRetention
from tensortap.capture.recording.run_recordings import RunRecordings
from tensortap.capture.tap import Tap
from tensortap.capture.triggers.triggers import NonFinite
from tensortap.capture.watching.step_schedule import every
from tensortap.capture.watching.watch import Watch
from tensortap.dump.recording.recording import Argument, Recording
from tensortap.dump.recording.recording_files import find_recordings, read_recording

NEVER = Watch(steps=range(10**6, 10**6 + 1))


def recording(step: int, time: float = 1.0, reason: str = "steps=1", value: float = 0.0) -> Recording:
    array = np.full(50_000, value, np.float32)
    return Recording("f", b"", (Argument("variable", "v", (array,)),), step, time=time, reason=reason)


def steps_in(run_dir: Path) -> list[int]:
    return [place.step for place in find_recordings(run_dir)]


def test_those_that_were_made_last_stay_when_training_goes_back(tmp_path: Path) -> None:
    first = RecordingRetention(tmp_path, 2)
    for step in (98, 99, 100):
        first.add(recording(step, time=step))
    resumed = RecordingRetention(tmp_path, 2)
    for number, step in enumerate(range(50, 55)):
        resumed.add(recording(step, time=200.0 + number))
        assert step in steps_in(tmp_path)
    assert steps_in(tmp_path) == [53, 54]


def test_what_a_trigger_chose_is_not_pushed_out_by_later_steps(tmp_path: Path) -> None:
    kept = RecordingRetention(tmp_path, 2)
    for step in (14, 15):
        kept.add(recording(step, reason="NonFinite(): NaN"))
    for step in (20, 30, 40):
        kept.add(recording(step))
    assert kept.holds(30, 0, "LossSpike(): 9") and not kept.holds(20, 0, "LossSpike(): 9")
    for step in (50, 60, 70):
        kept.add(recording(step))
    assert steps_in(tmp_path) == [15, 30, 60, 70]
    reasons = [read_recording(place.path).reason for place in find_recordings(tmp_path)]
    assert reasons == ["NonFinite(): NaN", "LossSpike(): 9", "steps=1", "steps=1"]
    RecordingRetention(tmp_path, 1).add(recording(80, time=2.0))
    assert len(steps_in(tmp_path)) == 2 and 80 in steps_in(tmp_path)


def test_the_disk_holds_no_more_than_what_stays(tmp_path: Path) -> None:
    kept = RecordingRetention(tmp_path, 1)
    for step in range(5):
        kept.add(recording(step, value=step))
        assert len(list(tmp_path.glob("recordings/blobs/*"))) == 1


def test_a_damaged_recording_is_left_with_all_bytes(tmp_path: Path) -> None:
    kept = RecordingRetention(tmp_path, 1)
    kept.add(recording(1, value=1))
    (place,) = find_recordings(tmp_path)
    (place.path / "recording.json").rename(tmp_path / "elsewhere.json")
    (place.path / "recording.json").symlink_to(tmp_path / "elsewhere.json")
    kept = RecordingRetention(tmp_path, 1)
    for step in (2, 3):
        kept.add(recording(step, value=step))
    assert steps_in(tmp_path) == [1, 3]
    assert len(list(tmp_path.glob("recordings/blobs/*"))) == 3


def test_steps_of_a_tap(tmp_path: Path) -> None:
    """A step that is asked for, and chosen by a trigger while later ones run; steps that come again."""
    weights = tf.Variable(tf.ones([4]))

    @tf.function
    def step(x: tf.Tensor) -> tf.Tensor:
        weights.assign(tf.sqrt(x) * tf.ones([4]))
        return tf.reduce_sum(weights)

    record = Record(every(10), on_trigger=True, keep_last=3)
    with Tap(tmp_path / "night", NEVER, on=NonFinite(), record=record) as tap:
        for number in range(60):
            with tap.step(number):
                step(tf.constant(-1.0 if number == 20 else 1.0))
    assert steps_in(tmp_path / "night") == [19, 20, 30, 40, 50]
    chosen = read_recording(find_recordings(tmp_path / "night")[1].path)
    assert chosen.reason.startswith("NonFinite()")
    for rounds in ((5, 6, 5, 6), (5,)):  # the second time in another tap, as when training is resumed
        with Tap(tmp_path / "again", NEVER, record=every(1)) as tap:
            for number in rounds:
                with tap.step(number):
                    step(tf.constant(1.0))
    places = find_recordings(tmp_path / "again")
    assert [(place.step, place.call) for place in places] == [(5, 0), (5, 1), (5, 2), (6, 0), (6, 1)]
    times = [read_recording(place.path).time for place in places]
    assert times[:3] == sorted(times[:3])


def test_a_slow_disk_leaves_out_whole_steps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All calls of a step are recorded, or none: half a step of several networks is no use."""
    free, write = threading.Event(), RunRecordings._write
    monkeypatch.setattr(RunRecordings, "_write", lambda self, item: (free.wait(60), write(self, item)))
    double = tf.function(lambda x: x * 2.0)
    tap = Tap(tmp_path / "gan", NEVER, record=every(1))
    with pytest.warns(TapWarning, match="earlier ones were still being written"), tap:
        for number in range(8):
            with tap.step(number):
                for _ in range(4):
                    double(tf.constant(1.0))
        free.set()
    calls = Counter(place.step for place in find_recordings(tmp_path / "gan"))
    assert set(calls.values()) == {4} and 0 < len(calls) < 8
