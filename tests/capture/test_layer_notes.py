"""Notes that are taken while functions are traced: they stay out of the user's way."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import keras
import pytest
import tensorflow as tf
from dumped import Dumped

from tensortap.capture.errors import TapWarning
from tensortap.capture.tap import Tap
from tensortap.capture.tracing.layer_tracker import LayerTracker
from tensortap.capture.watch import Watch

ALL = Watch(steps=1)


class Splitting(keras.layers.Layer):  # type: ignore[misc]
    """Returns what has keys that cannot be sorted."""

    def call(self, x: Any) -> Any:
        return {1: tf.add(x, 1.0, name="more"), "rest": x}


class Averaging(keras.layers.Layer):  # type: ignore[misc]
    """Keeps the mean of its inputs, in mixed precision."""

    def build(self, shape: Any) -> None:
        self.mean = self.add_weight(shape=(shape[-1],), trainable=False, name="mean")

    def call(self, x: Any) -> Any:
        self.mean.assign(tf.cast(tf.reduce_mean(x, 0), tf.float32))
        return x * 2.0


def test_outputs_of_any_structure(tmp_path: Path) -> None:
    layer = Splitting(name="splitting")
    with Tap(tmp_path / "r", ALL) as tap, tap.step(0):
        tf.function(lambda x: layer(x)[1])(tf.ones(2))
    assert Dumped(tmp_path / "r").node("splitting_1/more").attributes["tensortap.kind"] == "output"


def test_no_op_is_added_to_what_is_traced(tmp_path: Path) -> None:
    layer = Averaging(dtype="mixed_float16")
    layer(tf.ones([2, 3]))

    def traced() -> list[str]:
        concrete = tf.function(lambda x: layer(x)).get_concrete_function(tf.TensorSpec([2, 3], tf.float16))
        return [operation.name for operation in concrete.graph.get_operations()]

    with Tap(tmp_path / "r") as tap, tap.step(0):
        tapped = traced()
    assert tapped == traced()


def test_a_note_that_fails_is_told_once_and_ends_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: Any) -> None:
        raise ValueError("an unknown layer")

    for note in ("_note_layer", "_note_gradients", "_note_variables", "_note_derived"):
        monkeypatch.setattr(LayerTracker, note, fails)
    monkeypatch.setattr("tensortap.capture.call_hook.CALL_HOOK.tracker._has_warned", False)
    model = keras.Sequential([keras.layers.Dense(2), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    with Tap(tmp_path / "r", ALL) as tap, pytest.warns(TapWarning) as told:
        model.fit(tf.ones([4, 2]), tf.ones([4, 1]), verbose=0, callbacks=[tap.callback()])
    assert len([each for each in told if "noted (ValueError: an unknown layer)" in str(each.message)]) == 1
    assert Dumped(tmp_path / "r").steps == [0]
