"""Small TensorFlow programs that make NaN and infinities, meant or not: `python nan_programs.py LOGDIR`.

Each is a run with the values of one step. `# origin` marks the line that must be found.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
from nan_special import SPECIAL

from tensortap import Tap, Watch, every

X = tf.constant([[0.5, 1.0, 2.0], [0.0, -1.0, 4.0]])
HALF = tf.constant([[300.0, 2.0], [1.0, 400.0]], tf.float16)


def log_of_0(x: Any) -> Any:
    return tf.reduce_sum(tf.math.log(tf.nn.relu(x)))  # origin


def log_of_negative(x: Any) -> Any:
    return tf.reduce_sum(tf.math.log(x - 0.25))  # origin


def log1p_of_minus_1(x: Any) -> Any:
    return tf.reduce_sum(tf.math.log1p(tf.minimum(x, 1.0)))  # origin


def division_by_0(x: Any) -> Any:
    return tf.reduce_sum(1.0 / x)  # origin


def zero_by_zero(x: Any) -> Any:
    mask = tf.cast(x > 100.0, tf.float32)
    return tf.reduce_sum(x * mask) / tf.reduce_sum(mask)  # origin


def exp_overflow(x: Any) -> Any:
    return tf.reduce_sum(tf.exp(30.0 * x))  # origin


def sqrt_of_negative(x: Any) -> Any:
    return tf.reduce_sum(tf.sqrt(x))  # origin


def rsqrt_of_0(x: Any) -> Any:
    return tf.reduce_sum(tf.math.rsqrt(tf.abs(x)))  # origin


def zero_times_inf(x: Any) -> Any:
    huge = tf.exp(200.0 * tf.abs(x))  # origin
    return tf.reduce_sum(tf.nn.relu(-x) * huge)


def inf_minus_inf(x: Any) -> Any:
    huge = tf.exp(200.0 * x)  # origin
    return tf.reduce_sum(huge - huge)


def float16_product(x: Any) -> Any:
    half = tf.cast(x, tf.float16) * 300.0
    return tf.reduce_sum(half * half)  # origin


def float16_cast(x: Any) -> Any:
    return tf.reduce_sum(tf.cast(x * 1e5, tf.float16))  # origin


def bfloat16_overflow(x: Any) -> Any:
    half = tf.cast(x * 1e20, tf.bfloat16)
    return tf.reduce_sum(half * half)  # origin


def sum_overflow(x: Any) -> Any:
    half = tf.cast(tf.abs(x) + 1.0, tf.float16) * 10000.0
    return tf.reduce_sum(half)  # origin


def matmul_overflow(x: Any) -> Any:
    large = x * 1e20
    return tf.reduce_sum(tf.matmul(large, large, transpose_b=True))  # origin


def pow_of_negative(x: Any) -> Any:
    return tf.reduce_sum(tf.pow(x, 0.5))  # origin


def softmax_of_nothing(x: Any) -> Any:
    masked = tf.where(x[:, :1] > 0.1, x, -np.inf)
    return tf.reduce_sum(tf.nn.softmax(masked))  # origin


def norm_gradient_at_0(x: Any) -> Any:
    with tf.GradientTape() as tape:
        tape.watch(x)
        norm = tf.reduce_sum(tf.sqrt(tf.reduce_sum(tf.square(x * 0.0), axis=1)))
    return tape.gradient(norm, x)


def mean_of_nothing(x: Any) -> Any:
    return tf.reduce_mean(tf.boolean_mask(x, x > 100.0))  # origin


def acos_outside(x: Any) -> Any:
    return tf.reduce_sum(tf.acos(x))  # origin


def in_a_loop(x: Any) -> Any:
    for _ in tf.range(5):
        x = tf.exp(x) * 0.9  # origin
    return tf.reduce_sum(x)


def through_ops(x: Any) -> Any:
    turned = tf.transpose(tf.reshape(x, [3, 2]))
    picked = tf.gather(turned, [1, 0], axis=0)
    return tf.reduce_sum(tf.math.log(tf.concat([picked, picked + 3.0], axis=1)))  # origin


# Meant: they must not be reported.


def attention_mask(x: Any) -> Any:
    mask = tf.linalg.band_part(tf.ones([3, 3]), -1, 0)
    scores = tf.where(mask > 0.0, tf.matmul(x, x, transpose_a=True), -np.inf)
    return tf.reduce_sum(tf.nn.softmax(scores))


def maximum_from_minus_inf(x: Any) -> Any:
    padded = tf.pad(x, [[1, 1], [1, 1]], constant_values=-np.inf)
    return tf.reduce_sum(tf.nn.max_pool2d(padded[None, :, :, None], 2, 1, "VALID"))


def initial_minimum(x: Any) -> Any:
    best = tf.fill([3], np.float32(np.inf))
    return tf.reduce_sum(tf.minimum(best, x[0]))


def guarded_division(x: Any) -> Any:
    return tf.reduce_sum(tf.where(tf.equal(x, 0.0), 0.0, 1.0 / x))


def deterministic_loss(x: Any) -> Any:
    labels = tf.constant([0, 2])
    return tf.reduce_sum(tf.nn.sparse_softmax_cross_entropy_with_logits(labels, x))


ORIGINS: dict[str, Callable[[Any], Any]] = {
    made.__name__: made
    for made in (
        *(log_of_0, log_of_negative, log1p_of_minus_1, division_by_0, zero_by_zero, exp_overflow),
        *(sqrt_of_negative, rsqrt_of_0, zero_times_inf, inf_minus_inf, float16_product, float16_cast),
        *(bfloat16_overflow, sum_overflow, matmul_overflow, pow_of_negative, softmax_of_nothing),
        *(norm_gradient_at_0, mean_of_nothing, acos_outside, in_a_loop, through_ops),
    )
}
EXPECTED: dict[str, Callable[[Any], Any]] = {
    made.__name__: made
    for made in (
        *(attention_mask, maximum_from_minus_inf, initial_minimum, guarded_division),
        deterministic_loss,
    )
}


def marked_line(function: Callable[..., Any]) -> int | None:
    """The line of this file that is marked in a function."""
    lines, first = inspect.getsourcelines(function)
    return next((first + at for at, line in enumerate(lines) if line.endswith("# origin\n")), None)


def main(logdir: Path) -> None:
    for name, function in {**ORIGINS, **SPECIAL, **EXPECTED}.items():
        if name == "deterministic_loss":
            tf.config.experimental.enable_op_determinism()
        with Tap(logdir / name, watch=Watch(steps=every(1), keep="value")) as tap:
            tap.function(function)(X)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
