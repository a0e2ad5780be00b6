"""`tap.function` and `tap.step` around training loops of one's own."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf
from dumped import Dumped

from tensortap.capture.errors import TapClosedError, WatchError
from tensortap.capture.tap import Tap
from tensortap.capture.watching.step_schedule import every
from tensortap.capture.watching.watch import Watch

ALL = Watch(steps=1, keep="value")


def test_a_custom_training_loop_counts_its_own_steps(tmp_path: Path) -> None:
    weight = tf.Variable([[1.0], [2.0]])
    optimizer = keras.optimizers.SGD(0.1)

    with Tap(tmp_path / "r", ALL) as tap:

        @tap.function
        def train(x: Any, y: Any) -> Any:
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.square(tf.matmul(x, weight) - y), name="loss")
            gradients = tape.gradient(loss, [weight])
            optimizer.apply_gradients(zip(gradients, [weight], strict=True))
            return loss

        losses = []
        before = []
        for step in range(3):
            before.append(weight.numpy())
            losses.append(train(tf.fill([4, 2], float(step)), tf.ones([4, 1])).numpy())

    dumped = Dumped(tmp_path / "r")
    read = next(row.node for row in dumped.rows if row.node.endswith("MatMul/ReadVariableOp"))
    for step in range(3):
        assert dumped.value("loss:0", step) == losses[step]
        np.testing.assert_array_equal(dumped.value("x:0", step), np.full((4, 2), step, np.float32))
        np.testing.assert_array_equal(dumped.value("y:0", step), np.ones((4, 1), np.float32))
        np.testing.assert_array_equal(dumped.value(f"{read}:0", step), before[step])
    assert any(node.attributes.get("tensortap.kind") == "gradient" for node in dumped.graph().nodes)
    assert {node.name for node in dumped.graph().nodes if node.op_type == "_Arg"} >= {"x", "y"}


def test_a_step_can_be_named_and_holds_several_functions(tmp_path: Path) -> None:
    with Tap(tmp_path / "r", Watch(steps=every(5), keep="value")) as tap:

        @tap.function
        def double(x: Any) -> Any:
            return tf.add(x, x, name="sum")

        @tf.function
        def square(x: Any) -> Any:
            return tf.multiply(x, x, name="product")

        for step in (3, 5, 7, 10):
            with tap.step(step) as number:
                assert number == step
                square(double(tf.constant(float(step))))

    dumped = Dumped(tmp_path / "r")
    assert dumped.steps == [5, 10]
    assert dumped.value("product:0", 10) == 400.0
    assert {graph.name for graph in dumped.graphs()} == {"double", "square"}


def test_calls_in_one_step_are_visits(tmp_path: Path) -> None:
    with Tap(tmp_path / "r", ALL) as tap:

        @tf.function
        def double(x: Any) -> Any:
            return tf.add(x, x, name="sum")

        for _ in range(2):
            with tap.step(4):
                double(tf.constant(1.0))
                double(tf.constant(2.0))

    rows = Dumped(tmp_path / "r").at("sum:0", 4)
    assert [(row.visit, float(row.value)) for row in rows] == [(0, 2.0), (1, 4.0), (2, 2.0), (3, 4.0)]


def test_a_tape_outside_of_the_function_is_captured_with_a_step(tmp_path: Path) -> None:
    weight = tf.Variable(3.0)

    with Tap(tmp_path / "r", ALL) as tap:

        @tap.function
        def forward(x: Any) -> Any:
            return tf.sin(x * weight, name="wave")

        with tap.step(), tf.GradientTape() as tape:
            outcome = forward(tf.constant(0.5))
            gradient = tape.gradient(outcome, weight)

    dumped = Dumped(tmp_path / "r")
    assert math.isclose(float(gradient), 0.5 * math.cos(1.5), rel_tol=1e-6)
    backward = dumped.graph("forward_backward")
    last = [node.name for node in backward.nodes if node.name.endswith("Mul_1") or node.op_type == "Mul"]
    assert any(np.isclose(dumped.value(f"{name}:0"), gradient) for name in last)


def test_methods_and_options_work_as_with_tf_function(tmp_path: Path) -> None:
    with Tap(tmp_path / "r", ALL) as tap:

        class Trainer:
            factor = 3.0

            @tap.function(reduce_retracing=True)
            def scale(self, x: Any) -> Any:
                """Scales."""
                return tf.multiply(x, self.factor, name="scaled")

        trainer = Trainer()
        assert trainer.scale(tf.constant(2.0)) == 6.0
        assert Trainer.scale.__doc__ == "Scales."
        assert Trainer.scale.get_concrete_function(trainer, tf.constant(1.0)) is not None

        @tf.function
        def outer(x: Any) -> Any:
            return trainer.scale(x)

        assert outer(tf.constant(1.0)) == 3.0

    assert Dumped(tmp_path / "r").value("scaled:0") == 6.0
    assert Dumped(tmp_path / "r").steps == [0]


def test_unwatched_steps_run_the_untouched_function(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tensorflow.python.eager import context

    called: list[str] = []
    original = context.Context.call_function

    def record(self: Any, name: bytes, *rest: Any) -> Any:
        called.append(name.decode())
        return original(self, name, *rest)

    monkeypatch.setattr(context.Context, "call_function", record)
    with Tap(tmp_path / "r", Watch(steps=[2])) as tap:

        @tap.function
        def double(x: Any) -> Any:
            return tf.add(x, x)

        for _ in range(4):
            double(tf.constant(1.0))

    assert ["tensortap" in name for name in called] == [False, False, True, False]
    assert called[0] == called[1] == called[3]


def test_nan_is_named_where_it_first_arises(tmp_path: Path) -> None:
    with Tap(tmp_path / "r", Watch(steps=1)) as tap:

        @tap.function
        def step(x: Any) -> Any:
            shifted = tf.subtract(x, 1.0, name="shifted")
            logarithm = tf.math.log(shifted, name="logarithm")
            return tf.reduce_mean(tf.exp(logarithm, name="exponential"), name="loss")

        step(tf.constant([2.0, 3.0]))
        step(tf.constant([2.0, 0.5]))

    dumped = Dumped(tmp_path / "r")
    order = [node.name for node in dumped.graph().nodes]
    bad = sorted((row.step, order.index(row.node), row.name) for row in dumped.rows if row.nan > 0)
    assert bad[0][::2] == (1, "logarithm:0")
    assert [name for _, _, name in bad][:3] == ["logarithm:0", "exponential:0", "loss:0"]


def test_taps_may_be_nested_and_used_by_two_owners(tmp_path: Path) -> None:
    with Tap(tmp_path / "a", ALL) as outer, Tap(tmp_path / "b", Watch("sum", steps=1)) as inner:

        @tf.function
        def double(x: Any) -> Any:
            return tf.add(x, x, name="sum")

        with outer.step(1):
            with inner.step(7):
                double(tf.constant(1.0))
            with outer.step(2):
                double(tf.constant(2.0))
            double(tf.constant(3.0))

    assert [row.step for row in Dumped(tmp_path / "b").rows] == [7]
    of_a = [(row.step, float(row.value)) for row in Dumped(tmp_path / "a").at("sum:0")]
    assert of_a == [(1, 2.0), (1, 6.0), (2, 4.0)]


def test_steps_must_make_sense(tmp_path: Path) -> None:
    tap = Tap(tmp_path / "r")
    for number in (-1, 1 << 63, 0.5):
        with pytest.raises(WatchError, match="Steps are integers from 0 to"), tap.step(number):  # type: ignore[arg-type]
            pass
    tap.close()
    with pytest.raises(TapClosedError, match="closed"):
        tap.function(lambda: None)
