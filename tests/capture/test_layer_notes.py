"""Notes that are taken while functions are traced: they stay out of the user's way."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf
from dumped import Dumped

from tensortap.capture.errors import TapWarning
from tensortap.capture.tap import Tap
from tensortap.capture.tracing.layer_tracker import LayerTracker
from tensortap.capture.watching.watch import Watch

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


def test_a_note_that_fails_is_reported_once_and_ends_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: Any) -> None:
        raise ValueError("an unknown layer")

    for note in ("_note_layer", "_note_gradients", "_note_variables", "_note_derived"):
        monkeypatch.setattr(LayerTracker, note, fails)
    monkeypatch.setattr("tensortap.capture.call_hook.CALL_HOOK.tracker._has_warned", False)
    model = keras.Sequential([keras.layers.Dense(2), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    with Tap(tmp_path / "r", ALL) as tap, pytest.warns(TapWarning) as reported:
        model.fit(tf.ones([4, 2]), tf.ones([4, 1]), verbose=0, callbacks=[tap.callback()])
    assert (
        len([each for each in reported if "recorded (ValueError: an unknown layer)" in str(each.message)])
        == 1
    )
    assert Dumped(tmp_path / "r").steps == [0]


class Block(keras.layers.Layer):  # type: ignore[misc]
    """A layer of the user with two of Keras in it."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.up = keras.layers.Dense(5, activation="relu", name="up")
        self.down = keras.layers.Dense(3, name="down")

    def call(self, x: Any) -> Any:
        return x + self.down(self.up(x))


def test_calls_of_layers_are_recorded(tmp_path: Path) -> None:
    block = Block(name="block")
    with Tap(tmp_path / "r", ALL) as tap, tap.step(0):
        tf.function(lambda x: block(block(x)))(tf.ones([2, 3]))
    calls = Dumped(tmp_path / "r").graph().layers
    assert [call.path for call in calls] == ["block", "block/up", "block/down"] * 2
    outer, up, down, *_ = calls
    assert (outer.class_name, outer.parent, outer.parameters) == ("Block", -1, 3 * 5 + 5 + 5 * 3 + 3)
    assert outer.source is not None
    assert outer.source[0] == __file__
    assert (up.class_name, up.module.startswith("keras."), up.parent, up.source) == ("Dense", True, 0, None)
    assert "units=5" in up.config
    assert "activation=relu" in up.config
    assert down.inputs == up.outputs
    assert up.variables == ("block/up/kernel", "block/up/bias")
    assert outer.variables == ()
    assert calls[3].inputs == outer.outputs
    assert calls[4].parent == 3


def test_a_call_that_raises_is_not_recorded(tmp_path: Path) -> None:
    class Failing(keras.layers.Layer):  # type: ignore[misc]
        def call(self, x: Any) -> Any:
            raise ValueError("not today")

    failing = Failing(name="failing")
    dense = keras.layers.Dense(2, name="dense")
    dense(tf.ones([2, 3]))

    def function(x: Any) -> Any:
        with contextlib.suppress(ValueError):
            failing(x)
        return dense(x)

    with Tap(tmp_path / "r", ALL) as tap, tap.step(0):
        tf.function(function, autograph=False)(tf.ones([2, 3]))
    assert [call.path for call in Dumped(tmp_path / "r").graph().layers] == ["dense"]


def test_variables_are_recorded_with_what_they_are_for(tmp_path: Path) -> None:
    layers = [keras.layers.Dense(4), keras.layers.BatchNormalization(), keras.layers.Dropout(0.5, seed=1)]
    model = keras.Sequential([keras.Input((3,)), *layers, keras.layers.Dense(1)], name="net")
    model.compile("adam", "mse", metrics=["mae"])
    with Tap(tmp_path / "r", ALL) as tap:
        model.fit(np.ones((4, 3)), np.ones((4, 1)), verbose=0, callbacks=[tap.callback()])
    kinds = Dumped(tmp_path / "r").graph().variables
    by_kind = {kind: [path for path in kinds if kinds[path] == kind] for kind in set(kinds.values())}
    assert set(by_kind) >= {"weight", "moving", "seed", "slot", "iteration", "metric"}
    assert all(path.startswith("net/") for path in by_kind["weight"])
    assert all("moving" in path for path in by_kind["moving"])
    assert all("seed" in path for path in by_kind["seed"])
    assert [path.rpartition("/")[2] for path in by_kind["iteration"]] == ["iteration"]


def test_functions_of_one_name_have_their_own_loss(tmp_path: Path) -> None:
    """GIVEN a notebook that runs two versions of a cell WHEN the first has all noted nodes of the second, and
    more THEN the roles of the second are its own."""
    for number, negated in enumerate((True, False)):
        model, optimizer = (
            keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)]),
            keras.optimizers.SGD(),
        )
        optimizer.build(model.trainable_variables)

        @tf.function
        def train_step(x: Any, model: Any, optimizer: Any, *, negated: bool) -> Any:
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.square(model(x)))
                loss = loss if negated else -loss
            gradients = tape.gradient(loss, model.trainable_variables)
            gradients = [-gradient if negated else gradient for gradient in gradients]
            optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
            return loss

        with Tap(tmp_path / str(number), ALL) as tap, tap.step(0):
            train_step(tf.ones([3, 2]), model, optimizer, negated=negated)
        keras.backend.clear_session()
    last = Dumped(tmp_path / "1")
    losses = [
        node.name
        for graph in last.graphs()
        for node in graph.nodes
        if node.attributes.get("tensortap.kind") == "loss"
    ]
    assert losses == ["Neg"]
