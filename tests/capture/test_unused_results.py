"""What TensorFlow omits from a step, because nothing needs it, does not make a watched step raise: results
and arguments of branches and calls. Loop variables: `test_control_flow.py`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf
from dumped import Dumped

from tensortap import Tap, Watch

_COUNT = tf.Variable(0.0)
_TABLE = tf.Variable([0.5, 0.25])


def _fails(x: Any) -> Any:
    return tf.gather(x, [7], name="fails")


def _branch(x: Any) -> Any:
    y, _ = tf.cond(x[0] > 0.0, lambda: (tf.sin(x, name="sine"), _fails(x)), lambda: (x, x))
    return y


def _branch_with_effects(x: Any) -> Any:
    def positive() -> Any:
        _COUNT.assign_add(1.0)
        return tf.sin(x, name="sine"), _fails(x)

    y, unused = tf.cond(x[0] > 0.0, positive, lambda: (x, x))
    tf.sqrt(unused, name="after")
    return y


def _switch_case(x: Any) -> Any:
    branches = [lambda: (x, x), lambda: (tf.sin(x, name="sine"), _fails(x))]
    return tf.switch_case(tf.cast(x[0] + 0.5, tf.int32), branches)[0]


def _argument_of_branch(x: Any) -> Any:
    unused = _fails(x)

    def positive() -> Any:
        _COUNT.assign_add(1.0)
        return tf.sin(x, name="sine"), tf.sqrt(unused, name="after")

    return tf.cond(x[0] > 0.0, positive, lambda: (x, x))[0]


def _argument_of_call(x: Any) -> Any:
    @tf.function
    def count(x: Any, unused: Any) -> Any:
        _COUNT.assign_add(1.0)
        return tf.sin(x, name="sine"), tf.sqrt(unused, name="after")

    y, unused = count(x, _fails(x))
    tf.sqrt(unused, name="after")
    return y


def _branch_in_loop(x: Any) -> Any:
    y = x
    for i in tf.range(3):
        if i < 2:
            y, unused = tf.sin(y, name="sine"), _fails(y)
        else:
            unused = y
        tf.sqrt(unused, name="after")
    return y


def _branch_in_branch(x: Any) -> Any:
    def positive() -> Any:
        _COUNT.assign_add(1.0)
        return tf.cond(x[1] > 0.0, lambda: (tf.sin(x, name="sine"), _fails(x)), lambda: (x, x))

    return tf.cond(x[0] > 0.0, positive, lambda: (x, x))[0]


def _call_in_branch(x: Any) -> Any:
    @tf.function
    def both(x: Any) -> Any:
        return tf.sin(x, name="sine"), _fails(x)

    return tf.cond(x[0] > 0.0, lambda: both(x), lambda: (x, x))[0]


def _loop_in_branch(x: Any) -> Any:
    def positive() -> Any:
        y, unused = x, x[:1]
        for _ in tf.range(2):
            y, unused = tf.sin(y, name="sine"), _fails(unused)
        return y, unused

    return tf.cond(x[0] > 0.0, positive, lambda: (x, x))[0]


def _gradient(x: Any) -> Any:
    with tf.GradientTape() as tape:
        tape.watch(x)
        y, unused = tf.cond(
            x[0] > 0.0, lambda: (tf.sin(x, name="sine"), _fails(x) > 0.0), lambda: (x, x > 0.0)
        )
        tf.cast(unused, tf.float32, name="after")
    return tape.gradient(y, x), y


def _lookup(x: Any) -> Any:
    tf.gather(_TABLE, [7], name="fails")
    return tf.sin(x, name="sine")


def _draw(x: Any) -> Any:
    tf.random.normal(_fails(tf.cast(x, tf.int32)))
    return tf.sin(x, name="sine")


PROGRAMS = [
    _branch,
    _branch_with_effects,
    _switch_case,
    _argument_of_branch,
    _argument_of_call,
    _branch_in_loop,
    _branch_in_branch,
    _call_in_branch,
    _loop_in_branch,
    _gradient,
    _lookup,
    _draw,
]


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.filterwarnings("error:.*could not run:tensortap.capture.errors.TapWarning")
def test_unused_results_do_not_make_a_watched_step_raise(tmp_path: Path, program: Any, exact: bool) -> None:
    x = tf.constant([0.5, 0.75])
    _COUNT.assign(0.0)
    plain = tf.nest.map_structure(lambda tensor: tensor.numpy().tolist(), tf.function(program)(x))
    counted = float(_COUNT)
    with Tap(tmp_path / "r", Watch(steps=1, keep="value"), exact=exact) as tap:
        function = tf.function(program)
        for step in range(3):
            _COUNT.assign(0.0)
            with tap.step(step):
                tapped = function(x)
            assert tf.nest.map_structure(lambda tensor: tensor.numpy().tolist(), tapped) == plain
            assert float(_COUNT) == counted

    dumped = Dumped(tmp_path / "r")
    assert not [row.node for row in dumped.rows if row.node.endswith(("fails", "after"))]
    sines = [row for row in dumped.rows if row.node.endswith("sine")]
    assert {row.step for row in sines} == {0, 1, 2}
    assert sines[0].value.tolist() == tf.sin(x).numpy().tolist()


def test_unused_python_functions_are_not_called(tmp_path: Path) -> None:
    calls: list[Any] = []

    def program(x: Any) -> Any:
        tf.numpy_function(lambda x: calls.append(x) or x, [x], tf.float32, stateful=False)
        return tf.sin(x, name="sine")

    with Tap(tmp_path / "r", Watch(steps=1)) as tap, tap.step():
        tf.function(program)(tf.constant([0.5, 0.75]))
    assert not calls
    assert "sine" in {row.node for row in Dumped(tmp_path / "r").rows}


@pytest.mark.filterwarnings("error:.*could not run:tensortap.capture.errors.TapWarning")
def test_a_function_that_draws_runs_nothing_only_for_taps(tmp_path: Path) -> None:
    """GIVEN an unused reshape that would fail after the draw."""

    def make() -> Any:
        @tf.function
        def program(x: Any) -> Any:
            y = x + tf.random.normal([2], seed=1, name="noise")
            tf.reshape(y, tf.cast(x[:1] * 0.0 + 7.0, tf.int32), name="fails")
            tf.exp(y, name="unused")
            return tf.sin(y, name="sine")

        return program

    x, plain = tf.constant([0.5, 0.75]), make()
    expected = [plain(x).numpy().tolist() for _ in range(6)]
    tapped, found = make(), []
    with Tap(tmp_path / "r", Watch(steps=3, keep="value")) as tap:
        for step in range(6):
            with tap.step(step):
                found.append(tapped(x).numpy().tolist())
    assert found == expected
    names = {row.node for row in Dumped(tmp_path / "r").rows}
    assert "sine" in names and not names & {"fails", "unused"}
