"""Small trainings to compare with each other: `python compare_programs.py LOGDIR`. Run as a process."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from tensortap import Tap, Watch, every

STEPS, BATCH = 3, 16


def train(
    logdir: Path,
    run: str,
    *,
    dtype: str = "float32",
    hidden: str = "hidden",
    activation: Any = "relu",
    jit: bool = False,
    keep: Any = "value",
    seed: int = 0,
    rank: int | None = None,
) -> None:
    """Trains a small network on made-up data for `STEPS` steps."""
    keras.utils.set_random_seed(seed)
    keras.backend.clear_session()
    random = np.random.default_rng(0)
    x = random.standard_normal((STEPS * BATCH, 8)).astype(np.float32)
    y = random.integers(0, 4, STEPS * BATCH)
    policy = keras.DTypePolicy(dtype)
    layers = [
        keras.Input((8,)),
        keras.layers.Dense(16, activation, name=hidden, dtype=policy),
        keras.layers.Dense(16, "tanh", name="middle", dtype=policy),
        keras.layers.Dense(4, name="classes", dtype=policy),
    ]
    model = keras.Sequential(layers, name="net")
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.SGD(0.1), loss, jit_compile=jit)
    with Tap(logdir / run, watch=Watch(steps=every(1), keep=keep), rank=rank) as tap:
        model.fit(x, y, batch_size=BATCH, shuffle=False, verbose=0, callbacks=[tap.callback()])


def leaky(x: Any) -> Any:
    """What somebody took for a ReLU."""
    return tf.nn.relu(x + 0.05)


def loop(logdir: Path, run: str, wrong_at: int) -> None:
    """A loop whose third op is wrong in one iteration."""

    def program(x: Any) -> Any:
        def body(i: Any, x: Any) -> Any:
            doubled = tf.multiply(x, 2.0, name="doubled")
            shifted = tf.add(doubled, tf.where(tf.equal(i, wrong_at), 0.5, 1.0), name="shifted")
            return i + 1, tf.tanh(shifted, name="squashed")

        return tf.while_loop(lambda i, x: i < 5, body, (tf.constant(0), x))[1]

    with Tap(logdir / run, watch=Watch(steps=every(1), keep="value")) as tap:
        function = tap.function(program)
        with tap.step(0):
            function(tf.linspace(-1.0, 1.0, 6))


def recurrent(logdir: Path, run: str, scale: float = 1.0, wrong_at: int = -1) -> None:
    """A recurrent cell and its gradient: what it is given is scaled, or its state halved in one iteration."""
    weight = tf.Variable(tf.reshape(tf.linspace(-1.0, 1.0, 9), (3, 3)), name="weight")

    def program(x: Any) -> Any:
        with tf.GradientTape() as tape:
            given = tf.multiply(x, scale, name="given")

            def body(i: Any, state: Any) -> Any:
                kept = tf.multiply(state, tf.where(tf.equal(i, wrong_at), 0.5, 1.0), name="kept")
                mixed = tf.matmul(kept, weight, name="mixed")
                return i + 1, tf.tanh(mixed + given[i], name="state")

            start = tf.constant(0), tf.zeros((1, 3))
            loss = tf.reduce_sum(tf.while_loop(lambda i, state: i < 4, body, start)[1], name="loss")
        return tape.gradient(loss, weight)

    with Tap(logdir / run, watch=Watch(steps=every(1), keep="value")) as tap:
        function = tap.function(program)
        with tap.step(0):
            function(tf.reshape(tf.linspace(-1.0, 3.0, 12) ** 2, (4, 3)))


def main(logdir: Path) -> None:
    """Writes all runs."""
    train(logdir, "first")
    train(logdir, "again")
    train(logdir, "summaries", keep="summary")
    train(logdir, "bfloat16", dtype="mixed_bfloat16")
    train(logdir, "renamed", hidden="encoder")
    train(logdir, "injected", activation=leaky)
    train(logdir, "seed", seed=1)
    train(logdir, "xla", jit=True)
    loop(logdir, "loop", -1)
    loop(logdir, "loop-wrong", 2)
    recurrent(logdir, "recurrent")
    recurrent(logdir, "recurrent-scaled", scale=1.5)
    recurrent(logdir, "recurrent-wrong", wrong_at=2)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
