"""The model of the demo: a small convolutional network on scikit-learn's handwritten digits (no download)."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import keras
import numpy as np
import tensorflow as tf
from sklearn.datasets import load_digits

from tensortap.capture.tap import Tap
from tensortap.capture.watching.step_schedule import every
from tensortap.capture.watching.watch import Watch

from .progress import steps_progress

BATCH = 32
BROKEN_STEPS = 30
_SEED = 7
_LINE_EVERY = 20  # steps between two lines without a terminal


def train_digits(logdir: Path, steps: int) -> None:
    """A healthy run: every tenth step is stored, with values."""
    model = _network()
    model.compile(
        keras.optimizers.Adam(2e-3), keras.losses.SparseCategoricalCrossentropy(), metrics=["accuracy"]
    )
    _fit(model, logdir, "digits", steps, [Watch(steps=every(10), keep="value")])


def train_broken(logdir: Path) -> None:
    """A run that ends in NaN by two mistakes: the learning rate grows, and the loss takes the logarithm of 0.

    Summaries of every step show when it happens; values of the steps around it are stored.
    """
    model = _network()
    growing = keras.optimizers.schedules.ExponentialDecay(2e-3, decay_steps=1, decay_rate=1.25)
    model.compile(keras.optimizers.Adam(growing), _careless_loss)
    last = Watch(steps=range(BROKEN_STEPS - 10, BROKEN_STEPS), keep="value")
    _fit(model, logdir, "digits-nan", BROKEN_STEPS, [Watch(steps=every(1)), last])


def _careless_loss(labels: Any, probabilities: Any) -> Any:
    wanted = tf.one_hot(tf.cast(tf.reshape(labels, [-1]), tf.int32), 10)
    return -tf.reduce_sum(wanted * tf.math.log(probabilities), axis=-1)  # 0 · log 0 = NaN


def _network() -> keras.Model:
    keras.utils.set_random_seed(_SEED)
    return keras.Sequential(
        [
            keras.Input((8, 8, 1)),
            keras.layers.Conv2D(16, 3, activation="relu", name="conv1"),
            keras.layers.Conv2D(32, 3, activation="relu", name="conv2"),
            keras.layers.Flatten(name="flatten"),
            keras.layers.Dense(64, activation="relu", name="hidden"),
            keras.layers.Dropout(0.2, name="dropout"),
            keras.layers.Dense(10, activation="softmax", name="digits"),
        ],
        name="digits",
    )


def _fit(model: keras.Model, logdir: Path, run: str, steps: int, watches: list[Watch]) -> None:
    digits = load_digits()
    images = (digits.images[..., None] / 16).astype(np.float32)
    data = tf.data.Dataset.from_tensor_slices((images, digits.target.astype(np.int32)))
    data = data.shuffle(len(images), seed=_SEED).repeat().batch(BATCH).take(steps)
    path = logdir / _free_name(logdir, run)
    with (
        Tap(path, watch=watches) as tap,
        _reporting(path, steps) as report,
    ):
        model.fit(
            data,
            epochs=1,
            steps_per_epoch=steps,
            shuffle=False,
            verbose=0,
            callbacks=[tap.callback(), report],
        )


def _free_name(logdir: Path, run: str) -> str:
    """`run`, or `run-2`, `run-3`, … where an earlier demo took it."""
    taken = {path.name for path in logdir.iterdir()} if logdir.is_dir() else set()
    return next(
        name for name in (run, *(f"{run}-{n}" for n in range(2, len(taken) + 3))) if name not in taken
    )


@contextmanager
def _reporting(path: Path, steps: int) -> Iterator[keras.callbacks.Callback]:
    """A callback that shows how far training is: a bar on a terminal, a line now and then elsewhere."""
    with steps_progress(str(path), steps) as advance:
        yield _Report(advance, path, steps)


class _Report(keras.callbacks.Callback):  # type: ignore[misc]
    def __init__(self, advance: Any, path: Path, steps: int) -> None:
        super().__init__()
        self._advance, self._path, self._steps = advance, path, steps

    def on_train_batch_end(self, batch: int, logs: dict[str, float] | None = None) -> None:
        text = ", ".join(f"{name} {value:.3g}" for name, value in (logs or {}).items())
        done = batch + 1
        self._advance(done, text)
        if not sys.stderr.isatty() and (done % _LINE_EVERY == 0 or done == self._steps):
            print(f"{self._path}: step {done} of {self._steps}, {text}", flush=True)
