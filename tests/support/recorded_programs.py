"""Recorded train steps of four kinds, made once for all studies: CNN, transformer, RNN, custom loop."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import keras
import numpy as np
import small_models
import tensorflow as tf

from tensortap.capture.tap import Tap
from tensortap.capture.watching.step_schedule import every
from tensortap.capture.watching.watch import Watch

NONE = Watch(steps=[10**6])


def record_all(base: Path) -> None:
    """Writes the runs `cnn`, `transformer`, `rnn` and `loop`, with steps 0 and 1 recorded."""
    random = np.random.default_rng(0)
    labels = random.integers(0, 3, 16)
    fit(base / "cnn", small_models.cnn(), random.standard_normal((16, 8, 8, 2)).astype("f"), labels)
    fit(base / "transformer", small_models.transformer(), random.integers(0, 11, (16, 5)), labels)
    fit(base / "rnn", rnn(), random.standard_normal((16, 6, 4)).astype("f"), labels)
    custom_loop(base / "loop")


def rnn() -> keras.Model:
    """An LSTM, whose steps are a while loop."""
    keras.utils.set_random_seed(0)
    layers = [
        keras.layers.Input((6, 4)),
        keras.layers.LSTM(5, name="lstm"),
        keras.layers.Dense(3, name="logits"),
    ]
    return small_models.compiled(keras.Sequential(layers, name="rnn"))


def fit(run_dir: Path, model: keras.Model, x: Any, y: Any) -> None:
    """Two recorded steps of eight samples."""
    with Tap(run_dir, NONE, record=every(1)) as tap:
        model.fit(x, y, batch_size=8, verbose=0, callbacks=[tap.callback()])


def custom_loop(run_dir: Path) -> None:
    """A loop of the user's own: matrix products in `tf.range`, and -log of a softmax as loss."""
    random = np.random.default_rng(1)
    w = tf.Variable(random.standard_normal((4, 4)).astype("f"), name="w")
    with Tap(run_dir, NONE, record=every(1)) as tap:

        @tap.function
        def step(x: tf.Tensor) -> tf.Tensor:
            with tf.GradientTape() as tape:
                h = x
                for _ in tf.range(3):
                    h = tf.tanh(tf.matmul(h, w, name="product"), name="squash")
                loss = -tf.reduce_mean(tf.math.log(tf.nn.softmax(h)[:, 0]))
            w.assign_sub(0.1 * tape.gradient(loss, w))
            return loss

        for _ in range(2):
            step(tf.constant(random.standard_normal((8, 4)).astype("f")))
