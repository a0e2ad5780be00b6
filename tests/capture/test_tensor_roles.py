"""Tensors chosen by what they are to the model, with real training steps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf
from dumped import Dumped
from small_models import BATCH, data, mlp, weights_of

from tensortap.capture.errors import TapWarning
from tensortap.capture.tap import Tap
from tensortap.capture.watching.watch import Watch
from tensortap.core.sampling import Sample


def test_roles_of_layers_in_a_keras_fit(tmp_path: Path) -> None:
    x, y = data(batches=2)
    plain = mlp(optimizer="adam")
    plain.fit(x, y, batch_size=BATCH, shuffle=False, verbose=0)
    model = mlp(optimizer="adam")
    kinds = ["gradients of hidden", "updates of logits", "weights of logits", "losses"]
    tap = Tap(tmp_path / "r", Watch(kinds=kinds, steps=1, keep="value"))

    before = [weight.numpy() for weight in model.layers[-1].weights]
    model.fit(x, y, batch_size=BATCH, shuffle=False, verbose=0, callbacks=[tap.callback()])

    dumped = Dumped(tmp_path / "r")
    nodes = {node.name: node for node in dumped.graph().nodes}
    found = {
        (nodes[row.node].attributes["tensortap.kind"], nodes[row.node].attributes.get("tensortap.variable"))
        for row in dumped.rows
    }
    assert found == {
        ("gradient", "mlp/hidden/kernel"),
        ("gradient", "mlp/hidden/bias"),
        ("update", "mlp/logits/kernel"),
        ("update", "mlp/logits/bias"),
        ("weight", "mlp/logits/kernel"),
        ("weight", "mlp/logits/bias"),
        ("loss", None),
    }
    (kernel,) = [
        row.name
        for row in dumped.rows
        if row.step == 0
        and nodes[row.node].attributes.items()
        >= {"tensortap.kind": "update", "tensortap.variable": "mlp/logits/kernel"}.items()
    ]
    steps = [dumped.value(kernel, step) for step in (0, 1)]
    np.testing.assert_allclose(
        before[0] - steps[0] - steps[1], model.layers[-1].weights[0].numpy(), rtol=1e-5
    )
    assert weights_of(model) == weights_of(plain)


OPTIMIZERS = {
    "momentum": lambda: keras.optimizers.SGD(0.1, momentum=0.9),
    "nesterov": lambda: keras.optimizers.SGD(0.1, momentum=0.9, nesterov=True),
    "AdamW": lambda: keras.optimizers.AdamW(0.1, weight_decay=0.1),
    "RMSprop": lambda: keras.optimizers.RMSprop(0.1, momentum=0.9, centered=True),
    "Lion": lambda: keras.optimizers.Lion(0.1),
}


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_updates_are_what_the_weights_change_by(tmp_path: Path, optimizer: str) -> None:
    x, y = data(batches=2)
    model = mlp(optimizer=OPTIMIZERS[optimizer]())
    before = {weight.path: weight.numpy() for weight in model.trainable_variables}
    tap = Tap(tmp_path / "r", Watch(kinds="update", steps=1, keep="value"))
    model.fit(x, y, batch_size=BATCH, shuffle=False, verbose=0, callbacks=[tap.callback()])
    tap.close()

    dumped = Dumped(tmp_path / "r")
    of = {
        node.name: node.attributes["tensortap.variable"]
        for node in dumped.graph().nodes
        if node.attributes.get("tensortap.kind") == "update"
    }
    for weight in model.trainable_variables:
        updates = [row.value for row in dumped.rows if of[row.node] == weight.path]
        # Weight decay is an update of its own.
        assert len(updates) == (4 if optimizer == "AdamW" else 2)
        moved = weight.numpy() - before[weight.path]
        total = np.sum(updates, axis=0)
        assert np.abs(moved).max() > 0
        np.testing.assert_allclose(np.abs(total), np.abs(moved), rtol=1e-3, atol=1e-6)


def test_roles_in_a_loop_without_keras(tmp_path: Path) -> None:
    weight = tf.Variable([1.0, 2.0], name="w")
    tap = Tap(tmp_path / "r", Watch(kinds=["gradient", "update", "loss", "weight"], steps=1, keep="value"))

    @tap.function
    def train(x: tf.Tensor) -> tf.Tensor:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum((weight * x) ** 2)
        (gradient,) = tape.gradient(loss, [weight])
        weight.assign_sub(0.1 * gradient)
        return loss

    train(tf.constant([1.0, 3.0]))
    tap.close()

    dumped = Dumped(tmp_path / "r")
    kinds = {node.name: node.attributes.get("tensortap.kind") for node in dumped.graph().nodes}
    by_kind = {kinds[row.node]: row.value.tolist() for row in dumped.rows}
    assert by_kind["weight"] == [1, 2]
    assert by_kind["loss"] == 37
    assert by_kind["gradient"] == [2, 36]
    np.testing.assert_allclose(by_kind["update"], [0.2, 3.6], rtol=1e-6)


BY_HAND = {
    "assign_sub": lambda weight, change: weight.assign_sub(change),
    "assign_add": lambda weight, change: weight.assign_add(-change),
    "new value": lambda weight, change: weight.assign(weight - change),
    "sum": lambda weight, change: weight.assign(-change + weight),
}


@pytest.mark.parametrize("variable", [keras.Variable, tf.Variable])
@pytest.mark.parametrize("how", BY_HAND)
def test_updates_of_an_optimizer_written_by_hand(tmp_path: Path, variable: Any, how: str) -> None:
    weight, mean = variable(np.float32([1, 2]), name="w"), variable(np.float32([0, 0]), name="mean")
    tap = Tap(tmp_path / "r", Watch(kinds="update", steps=1, keep="value"))

    @tap.function
    def train(x: tf.Tensor) -> None:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum((weight * x) ** 2)
        (gradient,) = tape.gradient(loss, [weight])
        mean.assign(0.9 * mean + 0.1 * gradient)
        BY_HAND[how](weight, 0.1 * gradient)

    train(tf.constant([1.0, 3.0]))
    tap.close()

    dumped = Dumped(tmp_path / "r")
    (update,) = [row.value for row in dumped.rows]
    np.testing.assert_allclose(abs(update), [0.2, 3.6], rtol=1e-6)
    marks = [node.attributes for node in dumped.graph().nodes]
    (of,) = [each["tensortap.variable"] for each in marks if each.get("tensortap.kind") == "update"]
    assert of == "w"


def test_a_watch_for_a_kind_that_there_is_not_says_which_there_are(tmp_path: Path) -> None:
    weight = tf.Variable([1.0, 2.0])
    tap = Tap(tmp_path / "r", Watch(kinds="update", steps=1))

    @tap.function
    def train(x: tf.Tensor) -> None:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum((weight * x) ** 2)
        weight.assign(tf.sign(tape.gradient(loss, weight)))  # a new value, as Ftrl's

    train(tf.constant([1.0, 3.0]))
    with pytest.warns(TapWarning, match="Known kinds: gradient, input, loss, weight; capture with Watch"):
        tap.close()


def test_a_function_that_was_traced_before_has_no_kinds(tmp_path: Path) -> None:
    train = tf.function(lambda x: x + 1)
    train(tf.constant(1.0))
    tap = Tap(tmp_path / "r", Watch(kinds="update", steps=1))
    tap.function(train)(tf.constant(1.0))
    with pytest.warns(TapWarning, match="first called after the tap was created; capture with Watch"):
        tap.close()


def test_a_variable_outside_of_keras_that_its_optimizer_trains_is_one(tmp_path: Path) -> None:
    weight = tf.Variable([1.0, 2.0], name="w")
    optimizer = keras.optimizers.SGD(0.1)
    optimizer.build([weight])
    with Tap(tmp_path / "r", Watch(kinds=["gradient", "update", "weight"], steps=1)) as tap:

        @tap.function
        def train(x: tf.Tensor) -> None:
            with tf.GradientTape() as tape:
                loss = tf.reduce_sum((weight * x) ** 2)
            optimizer.apply(tape.gradient(loss, [weight]), [weight])

        train(tf.constant([1.0, 3.0]))

    nodes = [node.attributes for node in Dumped(tmp_path / "r").graph().nodes]
    roles = {(each.get("tensortap.kind"), each.get("tensortap.variable")) for each in nodes}
    assert {role for role in roles if role[0] in ("gradient", "update", "weight")} == {
        ("gradient", "w"),
        ("update", "w"),
        ("weight", "w"),
    }
    asked = {each["tensortap.trainable"] for each in nodes if "tensortap.trainable" in each}
    assert asked == {"true"}


def test_a_dump_tells_of_which_weights_gradients_are_asked_for(tmp_path: Path) -> None:
    names = ("teacher", "student", "frozen", "outside")
    teacher, student, frozen, outside = layers = [keras.layers.Dense(2, name=name) for name in names]
    scale, rounded = tf.Variable(1.0, name="scale"), tf.Variable([1.5, 2.5], name="rounded")
    for layer in layers:
        layer.build((1, 2))
    frozen.trainable = False
    trained = [*student.trainable_variables, scale, rounded]
    tap = Tap(tmp_path / "r", Watch(kinds=["weight"], steps=1))

    @tap.function
    def train(x: tf.Tensor) -> tf.Tensor:
        labels = outside(x)
        with tf.GradientTape() as tape:
            error = teacher(x) - student(frozen(x)) * scale + tf.round(rounded) + labels
            loss = tf.reduce_sum(error**2)
        gradients = tape.gradient(loss, trained)
        assert gradients[-1] is None
        return loss + sum(map(tf.reduce_sum, gradients[:-1]))

    train(tf.constant([[1.0, 3.0]]))
    tap.close()

    graph = Dumped(tmp_path / "r").graph()
    marks = ("tensortap.variable", "tensortap.trainable", "tensortap.left_out")
    reported = [tuple(node.attributes.get(mark, "") for mark in marks) for node in graph.nodes]
    of_dense = {"teacher": ("false", "true"), "student": ("true", "")}
    of_dense |= {"frozen": ("false", ""), "outside": ("false", "")}
    assert {marks for marks in reported if marks[1]} == {
        *((f"{name}/{part}", *marked) for name, marked in of_dense.items() for part in ("kernel", "bias")),
        *(("scale", "true", ""), ("rounded", "true", "")),
    }


def test_what_a_tape_derives_for_tensors_alone_is_no_loss(tmp_path: Path) -> None:
    weight = tf.Variable([[2.0], [1.0]], name="weight")
    tap = Tap(tmp_path / "r", Watch(kinds=["loss"], steps=1))

    @tap.function
    def train(x: tf.Tensor) -> tf.Tensor:
        with tf.GradientTape() as tape:
            with tf.GradientTape() as inner:
                inner.watch(x)
                scores = tf.matmul(x, weight, name="scores")
            penalty = tf.reduce_sum(inner.gradient(scores, x) ** 2, name="penalty")
        return tape.gradient(penalty, weight)

    train(tf.constant([[1.0, 3.0]]))
    tap.close()

    assert {row.node for row in Dumped(tmp_path / "r").rows} == {"penalty"}


def test_sizes_and_samples_of_running_tensors(tmp_path: Path) -> None:
    """The rows of a batch are known only when it comes, so whether it is large is, too."""
    large = Watch("^(x|double)$", min_size=100, keep="value", sample=Sample(10), steps=1)
    tap = Tap(tmp_path / "r", large | Watch("double$", max_size=99, keep="value", steps=1))

    @tap.function(input_signature=[tf.TensorSpec([None], tf.float32)])
    def run(x: tf.Tensor) -> tf.Tensor:
        return tf.multiply(x, 2.0, name="double")

    run(tf.range(50.0))
    run(tf.range(1000.0))
    tap.close()

    dumped = Dumped(tmp_path / "r")
    assert {(row.name, row.step): row.kept is not None and row.value.shape for row in dumped.rows} == {
        ("double:0", 0): (50,),
        ("x:0", 1): (10,),
        ("double:0", 1): (10,),
    }
    assert dumped.value("double:0", 1).tolist() == list(range(0, 2000, 200))
    assert dumped.at("double:0", 1)[0].size == 1000
