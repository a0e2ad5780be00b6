"""What is noted of a step that raised: the message, without what is put before it."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf
from dumped import Dumped

from tensortap.capture.tap import Tap
from tensortap.capture.triggers.firing import failure_facts
from tensortap.capture.watching.watch import Watch


def test_an_error_while_a_function_is_traced_is_reported_in_its_own_words(tmp_path: Path) -> None:
    tap = Tap(tmp_path / "r", Watch(steps=1))

    @tap.function
    def program(x: Any) -> Any:
        return x.no_such

    with pytest.raises(AttributeError), tap.step(0):
        program(tf.constant(1.0))
    tap.close()
    (raised,) = Dumped(tmp_path / "r").events("raised")
    assert raised["error"] == "AttributeError: 'SymbolicTensor' object has no attribute 'no_such'"


@pytest.mark.parametrize(
    ("text", "reported"),
    [
        ("no such thing\n  at all", "ValueError: no such thing"),
        ("", "ValueError"),
        ('in user code:\n\n    File "a.py", line 5, in f  *\n        raise x\n', "ValueError"),
        (
            'in user code:\n\n    File "a.py", line 5, in f  *\n        g(y)\n\n    KeyError: 3\n',
            "KeyError: 3",
        ),
        ('in user code:\n\n    File "a.py", line 5, in f  *\n\n    Mine: broken\n', "Mine: broken"),
        (
            "Exception encountered when calling L.call().\n\n\x1b[1mCould not infer. Error encountered:\n\n"
            "no attribute\x1b[0m\n\nArguments received by L.call():",
            "ValueError: no attribute",
        ),
        (
            'in user code:\n\n    File "a.py", line 5, in f\n        g(y)\n\n    ValueError: Exception '
            "encountered when calling L.call().\n    \n    in user code:\n    \n"
            '        File "b.py", line 1, in call\n            x.foo\n    \n        TypeError: not that\n',
            "TypeError: not that",
        ),
    ],
)
def test_what_is_put_before_a_message_is_skipped(text: str, reported: str) -> None:
    assert failure_facts(ValueError(text)) == {"error": reported}


def weights() -> Any:
    return tf.Variable(tf.ones([3, 3]), name="weights")


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("place", ["function", "inner", "loop", "branch"])
def test_a_check_that_raises_leaves_what_was_computed_before_it(
    tmp_path: Path, place: str, exact: bool
) -> None:
    variable = weights()

    def checked(x: Any) -> Any:
        return tf.debugging.check_numerics(tf.math.log(x, name="bad"), "no")

    @tf.function
    def train(x: Any) -> Any:
        with tf.GradientTape() as tape:
            hidden = tf.matmul(x, variable, name="hidden")
            zero = tf.subtract(hidden, hidden, name="zero")
            if place == "function":
                y = checked(zero)
            elif place == "inner":
                y = tf.function(checked)(zero)
            elif place == "loop":
                y = tf.while_loop(lambda i, _: i < 3, lambda i, y: (i + 1, checked(y)), [0, zero])[1]
            else:
                y = tf.cond(tf.reduce_sum(x) > 0, lambda: checked(zero), lambda: zero)
            loss = tf.reduce_sum(y, name="loss")
        variable.assign_sub(0.1 * tape.gradient(loss, variable))
        return loss

    for number in range(3):  # whatever runs first
        run = tmp_path / f"r{number}"
        tap = Tap(run, Watch(steps=1), exact=exact)
        with pytest.raises(tf.errors.InvalidArgumentError, match="no"), tap.step(0):
            train(tf.ones([2, 3]))
        tap.close()
        names = {row.name for row in Dumped(run).rows}
        if place != "inner":  # what a caller computes beside the call may still be under way
            assert {"hidden:0", "zero:0"} <= names
        assert any(name.endswith("bad:0") for name in names)
        assert not any("loss" in name for name in names)
        (raised,) = Dumped(run).events("raised")
        assert "no" in raised["error"]


def test_fit_that_raises_leaves_the_layers_before_it(tmp_path: Path) -> None:
    inputs = keras.Input((3,))
    x = keras.layers.Dense(4, name="first")(inputs)
    x = keras.layers.Lambda(lambda x: tf.debugging.check_numerics(tf.math.log(x - x), "no"), name="log")(x)
    model = keras.Model(inputs, keras.layers.Dense(1, name="last")(x))
    model.compile("sgd", "mse")
    with pytest.raises(tf.errors.InvalidArgumentError), Tap(tmp_path / "r", Watch(steps=1)) as tap:
        model.fit(np.ones([4, 3]), np.ones([4, 1]), callbacks=[tap.callback()], verbose=0)
    layers = {node.layer for node in Dumped(tmp_path / "r").graph().nodes if node.op_type == "Log"}
    names = {row.name for row in Dumped(tmp_path / "r").rows}
    assert any("first" in name for name in names)
    assert any(name.endswith("Log:0") for name in names)
    assert len(layers) == 1


def test_a_label_out_of_range_leaves_the_logits(tmp_path: Path) -> None:
    variable = weights()

    @tf.function
    def loss(x: Any, labels: Any) -> Any:
        logits = tf.matmul(x, variable, name="logits")
        return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits))

    tap = Tap(tmp_path / "r", Watch(steps=1))
    with pytest.raises(tf.errors.InvalidArgumentError), tap.step(0):
        loss(tf.ones([2, 3]), tf.constant([1, 7]))
    tap.close()
    assert "logits:0" in {row.name for row in Dumped(tmp_path / "r").rows}


def test_an_error_of_python_between_calls_leaves_what_ran(tmp_path: Path) -> None:
    @tf.function
    def double(x: Any) -> Any:
        return tf.multiply(x, 2.0, name="double")

    tap = Tap(tmp_path / "r", Watch(steps=1, visits=4))
    with pytest.raises(ZeroDivisionError), tap.step(0):
        for number in range(9):
            double(tf.ones([2]))
            if number == 7:
                raise ZeroDivisionError
    tap.close()
    assert [row.visit for row in Dumped(tmp_path / "r").rows if row.name == "double:0"] == [0, 4, 7]


def test_training_with_checks_keeps_its_bits(tmp_path: Path) -> None:
    def losses(tap: Tap | None) -> list[bytes]:
        variable = tf.Variable(np.random.default_rng(1).standard_normal((6, 3)).astype(np.float32))

        @tf.function
        def train(x: Any, labels: Any) -> Any:
            with tf.GradientTape() as tape:
                logits = tf.debugging.check_numerics(tf.nn.gelu(x @ variable * 0.5), "logits")
                tf.debugging.assert_less(tf.reduce_max(tf.abs(logits)), 100.0)
                loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits * 2.0))
                loss += tf.numpy_function(lambda x: x, [tf.constant(0.5)], tf.float32) * 0.1
            variable.assign_sub(0.3 * tape.gradient(loss, variable))
            return loss

        found = []
        for step in range(6):
            rows = np.random.default_rng(step)
            x = tf.constant(rows.standard_normal((8, 6)).astype(np.float32))
            with contextlib.nullcontext() if tap is None else tap.step(step):
                found.append(train(x, tf.constant(rows.integers(0, 3, 8))).numpy().tobytes())
        return [*found, variable.numpy().tobytes()]

    with Tap(tmp_path / "r", Watch(steps=2)) as tap:
        tapped = losses(tap)
    assert tapped == losses(None)


@pytest.mark.parametrize("exact", [False, True])
def test_an_error_reads_as_without_a_tap(tmp_path: Path, exact: bool) -> None:
    """TensorFlow adds the lines of the program, which it finds by the names of functions."""

    @tf.function
    def inner(x: Any) -> Any:
        return tf.debugging.check_numerics(tf.math.log(x), "not finite")

    @tf.function
    def train(x: Any) -> Any:
        return inner(x) + tf.random.normal([], seed=1)

    def message(step: contextlib.AbstractContextManager[Any]) -> str:
        with pytest.raises(tf.errors.InvalidArgumentError) as raised, step:
            train(tf.constant(-1.0))
        return str(raised.value)

    tap = Tap(tmp_path / "r", Watch(steps=2), exact=exact)
    watched, unwatched = message(tap.step(0)), message(tap.step(1))
    tap.close()
    plain = message(contextlib.nullcontext())
    assert "in inner" in plain
    assert watched == unwatched == plain
