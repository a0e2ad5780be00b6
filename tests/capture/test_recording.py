"""`Tap(record=…)`: steps are recorded, and run again bit by bit in a process without the model's code."""

from __future__ import annotations

import contextlib
import errno
import json
import subprocess
import sys
import threading
from dataclasses import dataclass
from pathlib import Path

import keras
import numpy as np
import pytest
import tensorflow as tf

import tensortap
from tensortap.capture.errors import TapWarning, WatchError
from tensortap.capture.pipeline.messages import StepEntry
from tensortap.capture.recording.pending_recordings import PendingRecordings, QueuedRecording
from tensortap.capture.recording.record_options import Record, RecordingRetention
from tensortap.capture.tap import Tap
from tensortap.capture.triggers.firing import TrainingStoppedError
from tensortap.capture.triggers.step_summaries import StepSummaries
from tensortap.capture.triggers.triggers import Finding, LossSpike, NonFinite
from tensortap.capture.watching.step_schedule import every
from tensortap.capture.watching.watch import Watch
from tensortap.dump.read.runs import RunReader, find_runs
from tensortap.dump.recording.bundle import write_bundle
from tensortap.dump.recording.recording import array_hash
from tensortap.dump.recording.recording_files import find_recordings, read_recording
from tensortap.replay.execution.loaded_call import LoadedCall

AGAIN = """
import json, sys
from pathlib import Path
from tensortap.replay.execution.loaded_call import LoadedCall
from tensortap.dump.recording.recording import array_hash
from tensortap.dump.recording.bundle import read_bundle
told = []
for path in sys.argv[1:]:
    recording = read_bundle(Path(path))
    with LoadedCall(recording) as call:
        for wanted in (lambda candidate: False, lambda candidate: True):
            again = call.run(wanted)
            assert again.failure is None, again.failure
            told.append([
                tuple(map(array_hash, again.outputs)) == recording.output_hashes,
                {k: array_hash(v) for k, v in again.variables.items()} == dict(recording.variable_hashes),
                len(again.variables),
                len(again.tensors),
            ])
print(json.dumps(told))
"""
NEVER = Watch(steps=range(10**6, 10**6 + 1))


def small_cnn() -> keras.Model:
    return keras.Sequential(
        [
            keras.Input((8, 8, 1)),
            keras.layers.Conv2D(4, 3, activation="relu"),
            keras.layers.BatchNormalization(),
            keras.layers.Dropout(0.3),
            keras.layers.Flatten(),
            keras.layers.Dense(10),
        ]
    )


def train_cnn(logdir: Path) -> None:
    keras.utils.set_random_seed(1)
    model = small_cnn()
    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    x, y = np.random.rand(40, 8, 8, 1).astype("float32"), np.random.randint(0, 10, 40)
    with Tap(logdir / "cnn", NEVER, record=Record(every(2))) as tap:
        model.fit(x, y, batch_size=8, verbose=0, callbacks=[tap.callback()])


def train_rnn(logdir: Path) -> None:
    """A while loop, a generator of random numbers and a variable that only this step uses."""
    weights = tf.Variable(np.random.default_rng(0).normal(size=(4, 4)).astype("float32"))
    generator = tf.random.Generator.from_seed(3)
    with Tap(logdir / "rnn", NEVER, record=every(1)) as tap:

        @tap.function
        def step(x: tf.Tensor) -> tf.Tensor:
            state = tf.zeros((2, 4))
            for t in tf.range(tf.shape(x)[0]):
                state = tf.tanh(tf.matmul(x[t] + state, weights) + generator.normal((2, 4)))
            weights.assign_sub(0.01 * weights)
            return tf.reduce_sum(state)

        for _ in range(2):
            step(tf.random.normal((5, 2, 4)))


@pytest.fixture(scope="module")
def logdir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("recorded")
    train_cnn(path)
    train_rnn(path)
    return path


def test_steps_run_again_bit_by_bit_in_another_process(logdir: Path, tmp_path: Path) -> None:
    bundles = []
    for run, _ in (("cnn", 5), ("rnn", 2)):
        place = find_recordings(logdir / run)[-1]
        bundles.append(tmp_path / f"{run}.tapbundle")
        write_bundle(bundles[-1], read_recording(place.path))
    done = subprocess.run(
        [sys.executable, "-c", AGAIN, *map(str, bundles)], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    (cnn, cnn_tapped, rnn, rnn_tapped) = json.loads(done.stdout)
    assert all(outputs and variables for outputs, variables, _, _ in (cnn, cnn_tapped, rnn, rnn_tapped))
    assert cnn[2] > 15 and cnn_tapped[3] > 200
    assert rnn[2] == 2 and rnn_tapped[3] > 40


def test_the_steps_that_were_asked_for_are_recorded(logdir: Path) -> None:
    assert sorted({place.step for place in find_recordings(logdir / "cnn")}) == [0, 2, 4]
    assert [place.step for place in find_recordings(logdir / "rnn")] == [0, 1]
    assert {name for name, _ in find_runs(logdir)} == {"cnn", "rnn"}
    recording = read_recording(find_recordings(logdir / "cnn")[-1].path)
    assert "conv2d" in " ".join(node.layer for node in RunReader(logdir / "cnn").graph(recording.graph).nodes)
    assert recording.versions["tensorflow"] == tf.__version__


def test_a_closed_tap_leaves_no_thread(tmp_path: Path) -> None:
    before = threading.enumerate()
    with Tap(tmp_path / "r", Watch(steps=every(1)), record=every(1)) as tap:
        step = tap.function(lambda x: x + 1)
        step(tf.zeros(1000))
        assert tap.flush()
        step(tf.zeros(1000))
    threads = [thread for thread in threading.enumerate() if thread not in before]
    threads = [thread for thread in threads if thread.name.startswith("tensortap-")]
    for thread in threads:
        thread.join(60)
    assert not [thread.name for thread in threads if thread.is_alive()]
    assert len(find_recordings(tmp_path / "r")) == 2


def test_any_tensor_can_be_computed_again_also_in_loops(logdir: Path) -> None:
    recording = read_recording(find_recordings(logdir / "rnn")[0].path)
    with LoadedCall(recording) as call:
        again = call.run(lambda candidate: candidate.op_type == "Tanh")
    (x,) = (
        argument.arrays[0]
        for argument in recording.arguments
        if argument.kind == "tensor" and argument.arrays[0].ndim == 3
    )
    assert [visit for _, visit, _ in again.tensors] == list(range(5))
    assert [value.shape for _, _, value in again.tensors] == [(2, 4)] * len(x)


def test_recording_changes_nothing(tmp_path: Path) -> None:
    def train(record: Record | None) -> list[str]:
        keras.utils.set_random_seed(5)
        model = small_cnn()
        model.compile("sgd", "mse")
        x, y = np.random.rand(24, 8, 8, 1).astype("float32"), np.random.rand(24, 10).astype("float32")
        with Tap(tmp_path / str(record is None), NEVER, record=record) as tap:
            model.fit(x, y, batch_size=8, verbose=0, callbacks=[tap.callback()])
        return [array_hash(weight) for weight in model.get_weights()]

    assert train(None) == train(Record(every(1), keep_last=1))
    assert len(find_recordings(tmp_path / "False")) == 1


def test_a_step_that_failed_is_recorded(tmp_path: Path) -> None:
    with Tap(tmp_path / "r", NEVER, record=every(1)) as tap:

        @tap.function
        def step(x: tf.Tensor) -> tf.Tensor:
            return tf.debugging.check_numerics(tf.math.log(x), "log")

        with pytest.raises(tf.errors.InvalidArgumentError):
            step(tf.constant([-1.0]))
    (place,) = find_recordings(tmp_path / "r")
    recording = read_recording(place.path)
    assert recording.failed == "InvalidArgumentError: log : Tensor had NaN values"
    with LoadedCall(recording) as call:
        again = call.run()
    assert isinstance(again.failure, tf.errors.InvalidArgumentError)


def batch_at(step: int) -> tf.Tensor:
    return tf.constant([2.0, -1.0 if step in (4, 9) else step])


@pytest.mark.parametrize("stop", [True, False])
def test_a_trigger_records_its_step_and_the_one_before(tmp_path: Path, stop: bool) -> None:
    record = Record([8], on_trigger=True)
    with Tap(tmp_path / "r", NEVER, record=record, on=NonFinite(), stop=stop) as tap:
        weights = tf.Variable([1.0, 1.0])

        @tap.function
        def step(x: tf.Tensor) -> tf.Tensor:
            weights.assign_add([0.5, 0.5])
            return tf.reduce_sum(weights * tf.sqrt(x))

        for number in range(12):
            with contextlib.suppress(TrainingStoppedError):
                step(batch_at(number))
    recorded = [read_recording(each.path) for each in find_recordings(tmp_path / "r")]
    assert [each.step for each in recorded] == [3, 4, 8, 9]
    assert [each.reason.partition(":")[0] for each in recorded] == [
        "NonFinite()",
        "NonFinite()",
        "NonFinite()",  # although it was asked for, too
        "NonFinite()",
    ]
    for each in recorded:
        with LoadedCall(each) as call:
            again = call.run()
        assert tuple(map(array_hash, again.outputs)) == each.output_hashes
        assert {number: array_hash(value) for number, value in again.variables.items()} == dict(
            each.variable_hashes
        )
        assert bool(np.isnan(again.outputs[0])) == (each.step in (4, 9))
        assert np.all(next(iter(again.variables.values())) == 1.0 + 0.5 * (each.step + 1))


def test_a_failing_step_and_those_before_it_are_recorded_on_a_trigger(tmp_path: Path) -> None:
    record = Record(on_trigger=True, before=2)
    with Tap(tmp_path / "r", NEVER, record=record, on=LossSpike(10), info={"why": "test"}) as tap:

        @tap.function
        def step(x: tf.Tensor) -> tf.Tensor:
            return tf.reduce_sum(tf.debugging.check_numerics(tf.sqrt(x), "root"))

        for number in range(4):
            step(batch_at(number))
        with pytest.raises(tf.errors.InvalidArgumentError):
            step(batch_at(4))
    recorded = [read_recording(each.path) for each in find_recordings(tmp_path / "r")]
    assert [(each.step, bool(each.failed)) for each in recorded] == [(2, False), (3, False), (4, True)]


def test_recording_on_a_trigger_needs_one(tmp_path: Path) -> None:
    with pytest.raises(WatchError, match=r"needs a trigger.*on=NonFinite\(\)"):
        Tap(tmp_path / "r", record=Record(on_trigger=True))


@dataclass(eq=False)
class Entry:
    numbers: range
    ended: bool = False
    end_lost: bool = False


def test_a_slow_trigger_holds_recordings_of_few_steps_only() -> None:
    held = PendingRecordings(before=1, patience=0)
    entries = [Entry(range(step, step + 1)) for step in range(8)]
    items = [QueuedRecording(None, None, "in-place", step, 0, "", None) for step in range(6)]  # type: ignore[arg-type]
    for step in (0, 1, 2):
        held.hold(entries[step], items[step])
        assert held.settle(entries[step], "") == []
    assert held.settle(entries[7], "unknown") == []
    held.hold(entries[3], items[3])
    entries[3].ended = True
    assert held.wait_for_room(entries[4])
    held.hold(entries[4], items[4])
    assert [item.step for item in held.settle(entries[3], "why")] == [2, 3]
    held.hold(entries[5], items[5])
    entries[4].ended = entries[5].ended = True
    assert not held.wait_for_room(entries[6])
    assert held.settle(entries[5], "why") == []


class LateNonFinite(NonFinite):
    """Looks at a step only when it is told to."""

    def __init__(self) -> None:
        super().__init__()
        self.may_look = threading.Event()

    def check(self, step: StepSummaries) -> Finding | None:
        assert self.may_look.wait(60)
        return super().check(step)


def test_a_step_entered_twice_is_recorded_though_the_trigger_comes_late(tmp_path: Path) -> None:
    trigger = LateNonFinite()
    with Tap(tmp_path / "r", NEVER, record=Record(on_trigger=True), on=trigger) as tap:
        root = tf.function(lambda x: tf.reduce_sum(tf.sqrt(x)))
        for _ in range(2):  # nothing runs in the first entry
            with tap.step(3):
                pass
        for value in (2.0, -1.0):
            with tap.step(4):
                root(tf.constant([value]))
        trigger.may_look.set()
    recorded = [read_recording(each.path) for each in find_recordings(tmp_path / "r")]
    assert [(each.step, each.call) for each in recorded] == [(4, 0), (4, 1)]
    assert [each.arguments[0].arrays[0].item() for each in recorded] == [2.0, -1.0]
    assert all("NaN" in each.reason or "not finite" in each.reason for each in recorded), recorded[0].reason


def test_calls_in_a_row_hold_one_copy_more_than_there_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What docs/replay.md says of a CPU: only variables that change are copied, once a call."""
    items: list[QueuedRecording] = []
    hold = PendingRecordings.hold

    def spy(held: PendingRecordings, entry: StepEntry, item: QueuedRecording) -> None:
        items.append(item)
        hold(held, entry, item)

    monkeypatch.setattr(PendingRecordings, "hold", spy)
    with tf.device("CPU"), Tap(tmp_path / "r", NEVER, record=Record(on_trigger=True), on=NonFinite()) as tap:
        changes, stays = tf.Variable(tf.zeros([1000])), tf.Variable(tf.ones([1000]))

        @tap.function
        def step() -> tf.Tensor:
            changes.assign_add(stays)
            return changes[0]

        for _ in range(4):
            step()
    variables = [
        [*(argument.arrays[0] for argument in item.call.recording.arguments), *item.call.variables.values()]
        for item in items
    ]
    assert [len(arrays) for arrays in variables] == [4] * 4
    buffers = {array.ctypes.data for arrays in variables for array in arrays}
    assert len(buffers) == 5 + 1


def test_recordings_leave_the_reserve_of_the_disk_alone_and_are_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with Tap(tmp_path / "r", NEVER, record=every(1), disk_reserve=1 << 60) as tap:
        step = tap.function(lambda x: x + 1)
        with pytest.warns(TapWarning, match="no snapshots or recordings are written"):
            for _ in range(2):
                step(tf.zeros(1000))
            assert tap.flush()
        assert tap.dropped == 2
    assert find_recordings(tmp_path / "r") == []
    assert not (tmp_path / "r" / "graphs").exists()
    (reported,) = capsys.readouterr().err.splitlines()
    assert (
        "2 recordings of run 'r' were dropped: only" in reported and "lower Tap(disk_reserve=…)" in reported
    )
    assert [worker.dropped for worker in tensortap.open(tmp_path).runs["r"].workers] == [2]


def test_recordings_that_a_disk_refuses_are_counted_beside_snapshots(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(RecordingRetention, "add", refuse)
    with Tap(tmp_path / "r", Watch(), record=every(1)) as tap:
        step = tap.function(lambda x: x + 1)
        with pytest.warns(TapWarning, match="a recording could not be written"):
            step(tf.zeros(10))
            assert tap.flush()
        tap._state.writer_thread.drop(1)
    assert "1 snapshot and 1 recording of run 'r' were dropped" in capsys.readouterr().err
    assert [worker.dropped for worker in tensortap.open(tmp_path).runs["r"].workers] == [2]


def test_what_cannot_be_recorded_is_said(tmp_path: Path) -> None:
    with Tap(tmp_path / "r", NEVER, record=every(1)) as tap:

        @tap.function
        def step(x: tf.Tensor) -> tf.Tensor:
            return tf.numpy_function(lambda value: value + 1, [x], tf.float32)

        with pytest.warns(TapWarning, match="cannot be recorded: it calls Python code"):
            assert step(tf.constant(1.0)) == 2.0
    assert find_recordings(tmp_path / "r") == []


@pytest.mark.parametrize(
    ("record", "message"), [(0, r"every\(0\)"), ("all", "record='all'"), (Record, "record=")]
)
def test_what_is_no_record_is_refused(tmp_path: Path, record: object, message: str) -> None:
    with pytest.raises(WatchError, match=message):
        Tap(tmp_path / "r", record=record)


def test_a_record_keeps_at_least_one() -> None:
    with pytest.raises(WatchError):
        Record(every(1), keep_last=0)
    assert Record(every(1), keep_last=np.int64(2), before=np.int64(0)).keep_last == 2  # type: ignore[arg-type]
    for wrong in ({}, {"on_trigger": 3}, {"on_trigger": True, "before": -1}, {"steps": 1, "keep_last": True}):
        with pytest.raises(WatchError):
            Record(**wrong)  # type: ignore[arg-type]
