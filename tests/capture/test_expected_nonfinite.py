"""NonFinite and infinities that the program writes itself, with real TensorFlow."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from tensortap.capture.tap import Tap
from tensortap.capture.triggers.triggers import NonFinite
from tensortap.capture.watching.watch import Watch

ROWS = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]


def fired(folder: Path, function: Callable[[tf.Tensor], tf.Tensor], trigger: NonFinite) -> list[str]:
    tap = Tap(folder, Watch(steps=1), on=trigger)
    tap.function(function, autograph=False)(tf.constant(ROWS))
    tap.close()
    return [firing.op_type for firing in tap.fired]


def masked(x: tf.Tensor, least: float) -> tf.Tensor:
    mask = tf.where(x < least, tf.fill(tf.shape(x), -np.inf), tf.zeros_like(x))
    return tf.nn.softmax(tf.transpose(x * 0.5 + mask) * 2.0, axis=0)


def chosen(x: tf.Tensor) -> tf.Tensor:
    return tf.reduce_max(tf.where(x > 2.0, x, -np.inf), axis=1)


def overflown(x: tf.Tensor) -> tf.Tensor:
    return tf.where(x > 2.0, tf.exp(x * 100.0), -np.inf)


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda x: masked(x, 2.5), []),
        (lambda x: masked(x, 3.5), ["Softmax"]),  # a row that is masked as a whole
        (chosen, []),
        (overflown, ["Exp"]),
        (lambda x: tf.math.log(x - x), ["Log"]),
        (lambda x: (x - x) * tf.where(x > 2.0, x, -np.inf), ["Mul"]),  # NaN
    ],
)
def test_infinite_constants_are_meant_and_what_they_break_is_not(
    tmp_path: Path, function: Callable[[tf.Tensor], tf.Tensor], expected: list[str]
) -> None:
    assert fired(tmp_path / "r", function, NonFinite()) == expected


def test_an_infinity_that_may_come_from_what_was_not_captured_counts(tmp_path: Path) -> None:
    trigger = NonFinite(Watch(ops=["SelectV2", "StridedSlice"]))
    assert fired(tmp_path / "where", overflown, trigger) == ["SelectV2"]
    assert fired(tmp_path / "slice", lambda x: tf.exp(x * 100.0)[0], trigger) == ["StridedSlice"]
