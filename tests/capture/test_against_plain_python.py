"""Captured values of what TensorFlow builds out of functions, against the same computed one by one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
from dumped import Dumped

from tensortap.capture.tap import Tap
from tensortap.capture.watching.watch import Watch

ALL = Watch(steps=1, keep="value")


def visits(dumped: Dumped, ending: str) -> list[float]:
    """Values of the only tensor whose node's name ends so, by visit."""
    found = iterations(dumped, ending)
    assert list(found) == list(range(len(found)))
    return list(found.values())


def iterations(dumped: Dumped, ending: str) -> dict[int, float]:
    """The same, where visits may be left out."""
    rows = dumped.at(f"{dumped.node(ending).name}:0")
    return {row.visit: float(row.value) for row in rows}


def test_custom_gradients(tmp_path: Path) -> None:
    @tf.custom_gradient
    def clipped(x: Any) -> Any:
        def backward(upstream: Any) -> Any:
            return tf.clip_by_value(tf.multiply(upstream, 10.0, name="scaled"), -1.0, 1.0, name="clip")

        return tf.square(x, name="squared"), backward

    with Tap(tmp_path / "r", ALL) as tap:

        @tap.function
        def step(x: Any) -> Any:
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = tf.multiply(clipped(x), 3.0, name="tripled")
            return tape.gradient(y, x)

        assert step(tf.constant(2.0)) == 1.0

    dumped = Dumped(tmp_path / "r")
    assert visits(dumped, "squared") == [4.0]
    assert visits(dumped, "tripled") == [12.0]
    assert visits(dumped, "scaled") == [30.0]
    assert visits(dumped, "clip") == [1.0]


def test_scan(tmp_path: Path) -> None:
    numbers = np.array([1.0, 2.0, 3.0, 4.0], np.float32)
    with Tap(tmp_path / "r", ALL) as tap:

        @tap.function
        def total(x: Any) -> Any:
            return tf.scan(lambda before, now: tf.add(before, now, name="sum"), x)

        np.testing.assert_array_equal(total(tf.constant(numbers)), np.cumsum(numbers))

    assert visits(Dumped(tmp_path / "r"), "/sum") == np.cumsum(numbers)[1:].tolist()


def test_branches_of_a_switch_inside_a_loop(tmp_path: Path) -> None:
    with Tap(tmp_path / "r", ALL) as tap:

        @tap.function
        def walk(x: Any) -> Any:
            for i in tf.range(6):
                x = tf.switch_case(
                    i % 3,
                    [
                        lambda x=x: tf.add(x, 1.0, name="more"),
                        lambda x=x: tf.multiply(x, 2.0, name="twice"),
                        lambda x=x: tf.negative(x, name="flipped"),
                    ],
                )
            return x

        assert walk(tf.constant(1.0)) == 6.0

    dumped = Dumped(tmp_path / "r")
    assert iterations(dumped, "more") == {0: 2.0, 3: -3.0}
    assert iterations(dumped, "twice") == {1: 4.0, 4: -6.0}
    assert iterations(dumped, "flipped") == {2: -4.0, 5: 6.0}


def test_nested_loops_forward_and_backward(tmp_path: Path) -> None:
    @tf.function
    def inner(x: Any) -> Any:
        return tf.sin(x, name="wave")

    with Tap(tmp_path / "r", ALL) as tap:

        @tap.function
        def step(x: Any) -> Any:
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = x
                for _ in tf.range(2):
                    for _ in tf.range(3):
                        y = inner(y)
                    y = tf.multiply(y, 2.0, name="doubled")
            return y, tape.gradient(y, x)

        end, gradient = step(tf.constant(0.7))

    waves, doubled, slopes = [], [], []
    y = np.float32(0.7)
    for _ in range(2):
        for _ in range(3):
            slopes.append(float(tf.cos(y)))
            y = tf.sin(y).numpy()
            waves.append(float(y))
        y = y * np.float32(2.0)
        doubled.append(float(y))
    dumped = Dumped(tmp_path / "r")
    assert [float(row.value) for row in dumped.rows if row.node.endswith("wave")][:6] == waves
    assert visits(dumped, "doubled") == doubled == [doubled[0], float(end)]
    cosines = [float(row.value) for row in dumped.rows if row.node.endswith("Cos")]
    assert cosines == slopes[::-1]
    np.testing.assert_allclose(gradient, 4.0 * np.prod(slopes), rtol=1e-6)


def test_compiled_functions_in_nested_loops(tmp_path: Path) -> None:
    @tf.function(jit_compile=True)
    def compiled(x: Any) -> Any:
        return tf.add(tf.multiply(x, 2.0, name="twice"), 1.0, name="more")

    with Tap(tmp_path / "r", ALL) as tap:

        @tap.function
        def step(x: Any) -> Any:
            for _ in tf.range(2):
                for _ in tf.range(2):
                    x = compiled(x)
                x = tf.negative(x, name="flipped")
            return x

        assert step(tf.constant(0.0)) == 9.0

    dumped = Dumped(tmp_path / "r")
    assert visits(dumped, "twice") == [0.0, 2.0, -6.0, -10.0]
    assert visits(dumped, "more") == [1.0, 3.0, -5.0, -9.0]
    assert visits(dumped, "flipped") == [-3.0, 9.0]
