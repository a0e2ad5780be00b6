"""Steps that leave NaN, each for another reason, recorded as runs; the repaired line is known."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from tensortap.capture.tap import Tap
from tensortap.capture.watching.step_schedule import every
from tensortap.capture.watching.watch import Watch

NONE = Watch(steps=[10**6])
X = np.array([[200.0, 1.0, -150.0], [0.5, 0.2, 0.1]], np.float32)


def log_of_softmax(x: Any, w: Any) -> Any:
    p = tf.nn.softmax(tf.matmul(x, w))
    return -tf.reduce_mean(tf.math.log(p))  # p is 0


def norm_of_nothing(x: Any, w: Any) -> Any:
    h = tf.matmul(x * 0.0, w)
    return tf.reduce_sum(tf.sqrt(tf.reduce_sum(h * h, -1)))  # its gradient is infinite


def divided_by_spread(x: Any, w: Any) -> Any:
    h = tf.matmul(x, w)
    spread = tf.math.reduce_variance(h[:1], axis=0)
    return tf.reduce_mean(h[:1] / spread)  # one row has no spread


def two_places(x: Any, w: Any) -> Any:
    h = tf.matmul(x, w)
    grown = tf.reduce_mean(tf.exp(h * 10.0))  # too large
    shrunk = tf.reduce_mean(tf.math.log(h[:, 0] * 0.0))  # log 0
    return grown + shrunk


def half_variance(x: Any, w: Any) -> Any:
    h = tf.cast(tf.matmul(x, w), tf.float16) * 10.0
    squared = tf.square(h, name="squared")  # beyond 65504
    return tf.reduce_mean(tf.cast(squared / tf.reduce_mean(squared), tf.float32))


def half_sum(x: Any, w: Any) -> Any:
    h = tf.cast(tf.matmul(x, w), tf.float16) * 10.0
    total = tf.reduce_sum(h * h)  # beyond 65504, and read in float32 only
    return tf.cast(total, tf.float32)


def half_underflow(x: Any, w: Any) -> Any:
    p = tf.nn.softmax(tf.cast(tf.matmul(x, w), tf.float16) / 5.0)  # e^-70 is 0 in float16
    wide = tf.cast(p, tf.float32)
    return -tf.reduce_mean(tf.math.log(wide))


def half_loop(x: Any, w: Any) -> Any:
    h = tf.cast(tf.matmul(x, w), tf.float16) * 10.0
    for _ in tf.range(3):
        grown = tf.square(h)  # beyond 65504; the gradient's lists hold it, too
        h = grown / tf.reduce_mean(grown)
    return tf.reduce_mean(tf.cast(h, tf.float32))


def masked_rows(x: Any, w: Any) -> Any:
    h = tf.matmul(x, w)
    for _ in range(2):
        scores = tf.where(h[:, :1] > 1, h[:, :1], -np.inf)  # one row is masked whole
        h = tf.nn.softmax(tf.concat([scores, scores], 1)) * h[:, :1]
    return tf.reduce_sum(tf.square(h))


def times_infinity(x: Any, w: Any) -> Any:
    h = tf.cast(tf.matmul(x, w), tf.float16) / 256.0
    keep = tf.cast(h > 0, tf.float16)
    return tf.reduce_sum(tf.cast(tf.nn.softmax(h + (1.0 - keep) * -np.inf), tf.float32))  # 0 * -inf


STEPS: dict[str, Callable[[Any, Any], Any]] = {
    loss.__name__: loss
    for loss in (
        log_of_softmax,
        norm_of_nothing,
        divided_by_spread,
        two_places,
        half_variance,
        half_sum,
        half_underflow,
        half_loop,
        masked_rows,
        times_infinity,
    )
}


def record(run_dir: Path, loss: Callable[[Any, Any], Any]) -> None:
    """One recorded step of gradient descent on `loss`."""
    w = tf.Variable(np.eye(3, dtype=np.float32), name="w")
    with Tap(run_dir, NONE, record=every(1)) as tap:

        @tap.function
        def step(x: Any) -> Any:
            with tf.GradientTape() as tape:
                value = loss(x, w)
            w.assign_sub(0.1 * tape.gradient(value, w))
            return value

        step(tf.constant(X))
