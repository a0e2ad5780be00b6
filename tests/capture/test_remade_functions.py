"""A step that failed for its taps is made again without: what is undone, what is not, whose error it was."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf

from tensortap.capture.errors import TapWarning
from tensortap.capture.exact.variable_snapshot import VariableSnapshot
from tensortap.capture.instrument.tapped_function import InstrumentedFunction, TapFailedError
from tensortap.capture.tap import Tap
from tensortap.capture.watching.step_schedule import every
from tensortap.capture.watching.watch import Watch
from tensortap.dump.recording.recording_files import find_recordings, read_recording

ALL = Watch(steps=1, keep="value")


@tf.function
def _looked_up(ids: Any) -> Any:
    return tf.gather(tf.range(4.0), ids, name="looked"), ids + 1


def test_an_error_of_the_program_is_not_taken_for_one_of_the_taps(tmp_path: Path) -> None:
    """GIVEN a function that is called twice, once for nothing THEN an error of the other call is raised."""

    def run(tap: Tap | None) -> list[Any]:
        count, batches = tf.Variable(0), iter(tf.data.Dataset.from_tensor_slices([[0], [9], [1], [2]]))

        def train(batches: Any) -> Any:
            ids = next(batches)
            _, unused = _looked_up(ids * 0)
            found, _ = _looked_up(ids)
            count.assign_add(1)
            return tf.reduce_sum(found) + 0 * tf.cast(tf.reduce_sum(unused), tf.float32)

        step = tf.function(train) if tap is None else tap.function(train)
        seen: list[Any] = []
        for _ in range(4):
            try:
                seen.append((float(step(batches)), int(count)))
            except tf.errors.InvalidArgumentError:
                seen.append(("out of range", int(count)))
        return seen

    with Tap(tmp_path / "r", ALL) as tap:
        assert run(tap) == run(None)


def test_a_batch_that_is_lost_to_the_taps_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    call, failed = InstrumentedFunction.call, []

    def failing(self: Any, *args: Any) -> Any:
        outputs = call(self, *args)
        if not failed:
            failed.append(True)
            raise TapFailedError from tf.errors.ResourceExhaustedError(None, None, "no room")
        return outputs

    monkeypatch.setattr(InstrumentedFunction, "call", failing)
    total, batches = tf.Variable(0.0), iter(tf.data.Dataset.from_tensor_slices([1.0, 2.0, 4.0]))
    with Tap(tmp_path / "r", ALL, record=every(1)) as tap:

        @tap.function
        def step(batches: Any) -> Any:
            return total.assign_add(next(batches))

        with pytest.warns(TapWarning, match="it already took an element from an iterator"):
            step(batches)
        assert float(total) == 2.0
        step(batches)
    assert float(total) == 6.0
    first, second = (read_recording(place.path) for place in find_recordings(tmp_path / "r"))
    assert (first.step, [array.tolist() for array in first.arguments[0].arrays]) == (0, [1.0])
    assert (second.step, [array.tolist() for array in second.arguments[0].arrays]) == (1, [4.0])


def test_what_is_held_of_a_failed_step_is_let_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """GIVEN a step that fails for its taps THEN the untapped one changes its variables where they lie."""
    held: list[VariableSnapshot] = []
    restore = VariableSnapshot.restore

    def watched(self: VariableSnapshot) -> None:
        restore(self)
        held.append(self)

    def failing(self: Any, *args: Any) -> Any:
        raise TapFailedError from tf.errors.ResourceExhaustedError(None, None, "no room")

    monkeypatch.setattr(VariableSnapshot, "restore", watched)
    monkeypatch.setattr(InstrumentedFunction, "call", failing)
    weight = tf.Variable(1.0)
    with Tap(tmp_path / "r", ALL) as tap, pytest.warns(TapWarning, match="could not run with taps"):
        tap.function(lambda: weight.assign_add(1.0))()
    [before] = held
    assert (before._handles, before._values) == ([], [])
    assert float(weight) == 2.0


def test_variables_that_cannot_be_restore_end_no_training(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(self: Any, *args: Any) -> Any:
        raise TapFailedError from tf.errors.ResourceExhaustedError(None, None, "no room")

    def never(self: VariableSnapshot) -> None:
        raise tf.errors.ResourceExhaustedError(None, None, "no room for that, either")

    monkeypatch.setattr(VariableSnapshot, "restore", never)
    monkeypatch.setattr(InstrumentedFunction, "call", failing)
    weight = tf.Variable(1.0)
    with Tap(tmp_path / "r", ALL) as tap, pytest.warns(TapWarning, match="could not be restored"):
        tap.function(lambda: weight.assign_add(1.0))()
    assert float(weight) == 2.0
