"""Capturing outputs, gradients and weights leaves every result as it was, whichever way TensorFlow is run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf
from dumped import Dumped
from small_models import BATCH, data, mlp, weights_of

from tensortap.capture.tap import Tap
from tensortap.capture.watching.watch import Watch

WATCH = Watch(kinds=["output", "gradient", "weight", "input"], steps=1)
Trial = Callable[[Tap | None, Path], Any]
X, Y = data()


def evaluates(tap: Tap | None, folder: Path) -> Any:
    return mlp().evaluate(
        X, Y, batch_size=BATCH, verbose=0, callbacks=[] if tap is None else [tap.callback()]
    )


def predicts(tap: Tap | None, folder: Path) -> Any:
    callbacks = [] if tap is None else [tap.callback()]
    return mlp().predict(X, batch_size=BATCH, verbose=0, callbacks=callbacks).tobytes()


def trains_in_a_function(tap: Tap | None, folder: Path) -> Any:
    """Two optimizers of one model, as a GAN has them, and random numbers of a generator."""
    model = mlp()
    optimizers = [keras.optimizers.Adam(0.01), keras.optimizers.SGD(0.1)]
    halves = model.trainable_variables[:2], model.trainable_variables[2:]
    generator = tf.random.Generator.from_seed(1)

    def step(x: Any, y: Any) -> Any:
        for optimizer, variables in zip(optimizers, halves, strict=True):
            with tf.GradientTape() as tape:
                loss = model.compute_loss(x, y, model(x + generator.normal(tf.shape(x))))
            optimizer.apply(tape.gradient(loss, variables), variables)
        return loss

    function = tf.function(step) if tap is None else tap.function(step)
    losses = [float(function(X[:BATCH], Y[:BATCH])) for _ in range(4)]
    return losses, weights_of(model)


def trains_in_loops_and_branches(tap: Tap | None, folder: Path) -> Any:
    """A recurrent layer, an inner function, and an optimizer in a branch in a loop."""
    keras.utils.set_random_seed(0)
    recurrent, last = keras.layers.LSTM(3), keras.layers.Dense(1, kernel_initializer="ones")
    optimizer = keras.optimizers.SGD(0.1)
    x = tf.constant(X[:BATCH, None, :] * np.ones((1, 4, 1), np.float32))
    last(recurrent(x))
    variables = recurrent.trainable_variables + last.trainable_variables
    optimizer.build(variables)
    scores = tf.function(lambda x: last(recurrent(x)))

    def train(x: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(scores(x) - 1.0))
        optimizer.apply(tape.gradient(loss, variables), variables)
        return loss

    def step(x: Any) -> Any:
        def body(i: Any, total: Any) -> Any:
            return i + 1, total + tf.cond(i % 2 == 0, lambda: train(x), lambda: tf.reduce_sum(scores(x)))

        return tf.while_loop(lambda i, _: i < 4, body, [0, 0.0])[1]

    function = tf.function(step) if tap is None else tap.function(step)
    return [float(function(x)) for _ in range(2)], [variable.numpy().tobytes() for variable in variables]


def trains_eagerly(tap: Tap | None, folder: Path) -> Any:
    model = mlp()
    optimizer = keras.optimizers.SGD(0.1)

    def step() -> float:
        with tf.GradientTape() as tape:
            loss = model.compute_loss(X, Y, model(X))
        optimizer.apply(tape.gradient(loss, model.trainable_variables), model.trainable_variables)
        return float(loss)

    losses = []
    for _ in range(3):
        if tap is None:
            losses.append(step())
        else:
            with tap.eager():
                losses.append(step())
    return losses, weights_of(model)


def runs_a_saved_model(tap: Tap | None, folder: Path) -> Any:
    path = str(folder / f"saved-{tap is None}")
    mlp().export(path, verbose=False)
    loaded = tf.saved_model.load(path) if tap is None else tap.saved_model(path)
    return loaded.signatures["serving_default"](tf.constant(X))["output_0"].numpy().tobytes()


@pytest.mark.parametrize(
    "trial",
    [
        evaluates,
        predicts,
        trains_in_a_function,
        trains_in_loops_and_branches,
        trains_eagerly,
        runs_a_saved_model,
    ],
)
def test_results_are_bit_identical(tmp_path: Path, trial: Trial) -> None:
    plain = trial(None, tmp_path)
    # Eager code has no roles: all of it is captured.
    watch = Watch(steps=1) if trial is trains_eagerly else WATCH
    with Tap(tmp_path / "r", watch) as tap:
        assert trial(tap, tmp_path) == plain
    dumped = Dumped(tmp_path / "r")
    assert dumped.rows
    assert {graph.way for graph in dumped.graphs()} == {"in-place"}
    assert np.isfinite([row.mean for row in dumped.rows if row.size]).all()
