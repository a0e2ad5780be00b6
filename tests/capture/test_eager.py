"""`tap.eager()`: ops outside functions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf
from dumped import Dumped
from small_models import mlp

from tensortap.capture.errors import TapWarning
from tensortap.capture.pipeline.messages import Message, TensorBatch
from tensortap.capture.pipeline.writer_thread import WriterThread
from tensortap.capture.tap import Tap
from tensortap.capture.watching.watch import Watch

ALL = Watch(steps=1, keep="value")


def test_ops_are_nodes_with_inputs_and_stacks(tmp_path: Path) -> None:
    with Tap(tmp_path / "r", ALL) as tap, tap.eager():
        x = tf.constant([[1.0, 2.0]])
        y = tf.matmul(x, x, transpose_b=True)
        tf.nn.relu(y)
        tf.nn.relu(-y)

    dumped = Dumped(tmp_path / "r")
    graph = dumped.graph("eager")
    assert dumped.value("MatMul:0").tolist() == [[5.0]]
    assert dumped.value("Relu:0").tolist() == [[5.0]]
    assert dumped.value("Relu_1:0").tolist() == [[0.0]]
    inputs = {node.name: list(node.inputs) for node in graph.nodes}
    assert inputs["Relu"] == ["MatMul:0"]
    assert inputs["Relu_1"] == ["Neg:0"]
    relu = next(node for node in graph.nodes if node.name == "Relu")
    assert graph.stacks[relu.stack][-1][0] == __file__


def test_functions_that_run_eagerly_are_captured_op_by_op(tmp_path: Path) -> None:
    tf.config.run_functions_eagerly(True)
    try:
        with Tap(tmp_path / "r", ALL) as tap:
            tapped = tap.function(lambda x: tf.nn.relu(x))
            tapped(tf.constant([-1.0, 2.0]))
            with tap.step(1):
                tf.function(lambda x: tf.nn.relu(x))(tf.constant([3.0]))
    finally:
        tf.config.run_functions_eagerly(False)
    dumped = Dumped(tmp_path / "r")
    assert [dumped.value("Relu:0", step).tolist() for step in (0, 1)] == [[0.0, 2.0], [3.0]]


def test_steps_have_the_same_names_and_functions_their_own_graph(tmp_path: Path) -> None:
    @tf.function
    def inner(x: Any) -> Any:
        return tf.add(x, 1.0, name="plus")

    with Tap(tmp_path / "r", ALL) as tap:
        for number in range(3):
            with tap.eager():
                inner(tf.square(tf.fill([], float(number))))

    dumped = Dumped(tmp_path / "r")
    assert [float(row.value) for row in dumped.at("Square:0")] == [0.0, 1.0, 4.0]
    assert [float(row.value) for row in dumped.at("plus:0")] == [1.0, 2.0, 5.0]
    assert {graph.name for graph in dumped.graphs()} == {"eager", "inner"}
    assert len(dumped.graphs()) == 2


def test_layers_and_gradients(tmp_path: Path) -> None:
    model = mlp()
    x = np.ones((2, 6), np.float32)
    with Tap(tmp_path / "r", ALL) as tap:
        with tap.step(5), tap.eager(), tf.GradientTape() as tape:
            loss = tf.reduce_sum(model(x))
            gradient = tape.gradient(loss, model.trainable_variables)[0]
        untapped = keras.ops.relu(x)

    dumped = Dumped(tmp_path / "r")
    assert dumped.steps == [5]
    np.testing.assert_array_equal(
        dumped.value("mlp/hidden/MatMul:0", 5), np.matmul(x, model.weights[0].numpy())
    )
    products = [row.value for row in dumped.rows if row.node.startswith("MatMul")]
    assert any(np.array_equal(product, gradient.numpy()) for product in products)
    assert untapped is not None


def test_unwatched_steps_are_free(tmp_path: Path) -> None:
    with Tap(tmp_path / "r", Watch(steps=[1])) as tap:
        for _ in range(3):
            with tap.eager():
                tf.add(1.0, 2.0)

    assert Dumped(tmp_path / "r").steps == [1]


def test_more_than_fits_is_dropped_and_counted(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with Tap(tmp_path / "r", ALL, queue_bytes=1000) as tap, tap.eager():
        tf.zeros([10])
        tf.zeros([1000])

    dumped = Dumped(tmp_path / "r")
    assert dumped.dropped == 1
    assert "1 snapshot of run 'r' was dropped" in capfd.readouterr().err


def test_a_failing_hand_over_is_reported_and_not_raised(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put = WriterThread.put

    def broken(writer_thread: WriterThread, message: Message) -> bool:
        if isinstance(message, TensorBatch):
            raise MemoryError("no room")
        return put(writer_thread, message)

    monkeypatch.setattr(WriterThread, "put", broken)
    tap = Tap(tmp_path / "r", ALL)
    reported = "eager ran, but its tensors could not be stored .MemoryError"
    with pytest.warns(TapWarning, match=reported), tap.eager():
        total = tf.add(1.0, 2.0)
    assert total == 3.0
    tap.close()


def test_steps_in_one_body_are_steps_of_their_own(tmp_path: Path) -> None:
    """GIVEN `with tap.eager():` around a loop THEN what runs inside of a step belongs to that step only."""
    with Tap(tmp_path / "r", Watch(steps=2, keep="value")) as tap, tap.eager():
        for number in range(4):
            with tap.step(10 + number):
                tf.square(tf.fill([], float(number)))
        tf.negative(tf.fill([], 7.0))

    dumped = Dumped(tmp_path / "r")
    assert {row.step: float(row.value) for row in dumped.at("Square:0")} == {10: 0.0, 12: 4.0}
    assert [(row.step, float(row.value)) for row in dumped.at("Neg:0")] == [(0, -7.0)]


@pytest.mark.parametrize(
    ("choice", "hint"), [({"kinds": "gradient"}, "capture with Watch"), ({"ops": "Sqare"}, "mean 'Square'")]
)
def test_eager_ops_of_which_nothing_is_selected_are_reported(
    tmp_path: Path, choice: dict[str, Any], hint: str
) -> None:
    tap = Tap(tmp_path / "r", Watch(**choice, steps=1))
    with tap.eager():
        tf.square(tf.ones([2]))
    with pytest.warns(TapWarning, match=f"nothing was captured: .* selects no tensor in eager.*{hint}"):
        tap.close()


def test_a_step_of_eager_code_outside_of_a_scope_says_how_to_capture_it(tmp_path: Path) -> None:
    with Tap(tmp_path / "r", ALL) as tap:
        reported = r"step 3 ran ops outside functions only, .*`with tap.step\(\), tap.eager\(\):`"
        with pytest.warns(TapWarning, match=reported), tap.step(3):
            tf.square(tf.ones([2]))
        with tap.step():  # once is enough
            tf.square(tf.ones([2]))


def test_eager_ops_beside_captured_ones_are_not_reported(tmp_path: Path) -> None:
    with Tap(tmp_path / "r", ALL) as tap:
        function = tap.function(lambda x: tf.square(x))
        for _ in range(2):
            with tap.step(), tap.eager():
                tf.square(tf.ones([2]))
        with tap.step():
            function(tf.ones([2]))
        with tap.step():
            tf.square(tf.ones([2]))
