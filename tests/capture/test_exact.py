"""`Tap(exact=True)`: a shadow is captured, and no bit of the training changes, whatever is watched."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf
from dumped import Dumped
from small_models import BATCH, CLASSES, compiled, weights_of

from tensortap.capture.errors import TapWarning
from tensortap.capture.tap import Tap
from tensortap.capture.watching.watch import Watch

STEPS = 6
ALL = Watch(steps=2, keep="value")


def dropout_transformer(jit_compile: bool) -> keras.Model:
    """One head of attention over an embedding, with residual, normalization and dropout."""
    keras.utils.set_random_seed(0)
    tokens = keras.layers.Input((5,), dtype="int32")
    x = keras.layers.Embedding(11, 8, name="embedding")(tokens)
    x = keras.layers.LayerNormalization(name="norm")(x + keras.layers.Attention(name="attention")([x, x]))
    x = keras.layers.GlobalAveragePooling1D(name="mean")(keras.layers.Dropout(0.3, name="drop")(x))
    outputs = keras.layers.Dense(CLASSES, name="logits")(x)
    optimizer = "sgd" if jit_compile else "adam"  # XLA needs long for Adam
    return compiled(keras.Model(tokens, outputs, name="t"), optimizer, jit_compile=jit_compile)


@pytest.mark.parametrize("jit_compile", [False, True], ids=["plain", "xla"])
def test_everything_of_a_transformer_with_dropout(tmp_path: Path, jit_compile: bool) -> None:
    random = np.random.default_rng(2)
    x = random.integers(0, 11, (STEPS * BATCH, 5)).astype(np.int32)
    y = random.integers(0, CLASSES, len(x))
    tap = Tap(tmp_path / "r", ALL, exact=True)

    def trained(callbacks: list[Any]) -> tuple[list[bytes], Any]:
        model = dropout_transformer(jit_compile)
        history = model.fit(x, y, batch_size=BATCH, verbose=0, callbacks=callbacks)
        return weights_of(model), history.history

    assert trained([tap.callback()]) == trained([])

    dumped = Dumped(tmp_path / "r")
    assert dumped.steps == [0, 2, 4]
    assert len(dumped.names) > 150
    assert {graph.way for graph in dumped.graphs()} == {"shadow"}
    mask = "drop_1/stateless_dropout/SelectV2"
    masks = [row.value for row in dumped.rows if row.node.endswith(mask) and "gradient" not in row.node]
    assert len(masks) == 3 and not np.array_equal(masks[0], masks[1])


def test_what_is_captured_is_what_the_step_computes(tmp_path: Path) -> None:
    generator = tf.random.Generator.from_seed(3)
    weight = tf.Variable([1.0, 2.0])
    rows = tf.Variable(tf.zeros([4, 2]))

    def step(x: Any) -> Any:
        noise = tf.identity(generator.normal([2]), name="noise")
        weight.assign_sub(tf.multiply(x, noise, name="update"))
        rows.scatter_add(tf.IndexedSlices(noise[tf.newaxis], [1]))
        return noise, tf.identity(weight, name="after")

    with Tap(tmp_path / "r", Watch(steps=1, keep="value"), exact=True) as tap:
        tapped = tap.function(step)
        seen = [[part.numpy() for part in tapped(tf.constant(0.5))] for _ in range(3)]

    dumped = Dumped(tmp_path / "r")
    for number, (noise, after) in enumerate(seen):
        np.testing.assert_array_equal(dumped.value("noise:0", number), noise)
        np.testing.assert_array_equal(dumped.value("after:0", number), after)
    np.testing.assert_array_equal(rows[1], np.sum([noise for noise, _ in seen], 0, np.float32))


def test_iterators_give_each_element_once(tmp_path: Path) -> None:
    iterator = iter(tf.data.Dataset.range(7).map(lambda n: (n, tf.strings.as_string(n))))
    total = tf.Variable(0, dtype=tf.int64)

    def step(source: Any) -> Any:
        for _ in tf.range(2):
            number, text = next(source)
            total.assign_add(tf.identity(number, name="number"))
            tf.identity(text, name="text")
        return tf.identity(total)

    with Tap(tmp_path / "r", Watch(steps=[0, 2, 3], keep="value"), exact=True) as tap:
        tapped = tap.function(step)
        assert [int(tapped(iterator)) for _ in range(3)] == [1, 6, 15]
        with pytest.raises(tf.errors.OutOfRangeError):
            tapped(iterator)

    dumped = Dumped(tmp_path / "r")
    assert [(row.step, row.visit, int(row.value)) for row in dumped.at("while/number:0")] == [
        (0, 0, 0),
        (0, 1, 1),
        (2, 0, 4),
        (2, 1, 5),
        (3, 0, 6),
    ]
    assert [row.value.item() for row in dumped.at("while/text:0", 2)] == [b"4", b"5"]
    assert total == 21


def test_reading_a_table_is_possible(tmp_path: Path) -> None:
    words = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(["a", "b"], [1, 2]), -1)
    with Tap(tmp_path / "r", Watch(steps=1, keep="value"), exact=True) as tap:
        assert tap.function(lambda x: tf.identity(words.lookup(x), name="found"))(tf.constant("b")) == 2
    assert Dumped(tmp_path / "r").value("found:0") == 2


@tf.function(jit_compile=True)
def draws_in_xla(x: Any) -> Any:
    return tf.random.normal([2], seed=1) + x


def calls_python(x: Any) -> Any:
    return tf.py_function(lambda y: y, [x], tf.float32)


def changes_a_table(x: Any) -> Any:
    one = tf.constant([1], tf.int64)
    TABLES[0].insert(one, one)
    return x


def goes_through_a_dataset(x: Any) -> Any:
    return tf.data.Dataset.range(3).reduce(x, lambda total, _: total + 1.0)


TABLES: list[Any] = []


@pytest.mark.parametrize(
    ("step", "why"),
    [
        (draws_in_xla, "XLA compiles a function that draws random numbers"),
        (calls_python, "calls Python code"),
        (changes_a_table, "changes a lookup table"),
        (goes_through_a_dataset, "iterates over a dataset"),
    ],
)
def test_what_cannot_be_run_twice_is_named(tmp_path: Path, step: Callable[[Any], Any], why: str) -> None:
    TABLES[:] = [tf.lookup.experimental.MutableHashTable(tf.int64, tf.int64, -1)]
    with Tap(tmp_path / "r", Watch(steps=1), exact=True) as tap:
        function = tap.function(step)
        with pytest.warns(TapWarning, match=why) as reported:
            function(tf.constant(1.0))
            function(tf.constant(1.0))
    assert [each.category for each in reported].count(TapWarning) == 1
    assert not (tmp_path / "r").exists() or not Dumped(tmp_path / "r").rows


def test_effects_come_once(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    writer = tf.summary.create_file_writer(str(tmp_path / "summaries"))

    def step(x: Any) -> Any:
        with writer.as_default(step=0):
            tf.summary.scalar("x", x)
        tf.print("seen", x)
        return tf.add(x, 1.0, name="more")

    with Tap(tmp_path / "r", Watch(steps=1, keep="value"), exact=True) as tap:
        assert tap.function(step)(tf.constant(1.0)) == 2.0
    writer.close()
    assert capfd.readouterr().err.count("seen 1") == 1
    (path,) = (tmp_path / "summaries").iterdir()
    scalars = [event for event in tf.compat.v1.train.summary_iterator(str(path)) if event.summary.value]
    assert len(scalars) == 1
    assert Dumped(tmp_path / "r").value("more:0") == 2.0


def test_errors_are_those_of_the_step(tmp_path: Path) -> None:
    weight = tf.Variable(0.0)

    def step(x: Any) -> Any:
        weight.assign_add(tf.identity(x, name="taken"))
        tf.debugging.assert_less(x, 2.0, message="too large")
        return weight.read_value()

    with Tap(tmp_path / "r", Watch(steps=1, keep="value"), exact=True) as tap:
        function = tap.function(step)
        function(tf.constant(1.0))
        with pytest.raises(tf.errors.InvalidArgumentError, match="too large"):
            function(tf.constant(5.0))

    assert Dumped(tmp_path / "r").value("taken:0", 0) == 1.0


def test_a_tape_outside_of_the_function(tmp_path: Path) -> None:
    weight = tf.Variable(3.0)
    with Tap(tmp_path / "r", Watch(steps=1, keep="value"), exact=True) as tap:
        forward = tap.function(lambda x: tf.sin(x * weight, name="wave"))
        with tap.step(), tf.GradientTape() as tape:
            outcome = forward(tf.constant(0.5))
            gradient = tape.gradient(outcome, weight)

    assert abs(float(gradient) - 0.5 * np.cos(1.5)) < 1e-6
    dumped = Dumped(tmp_path / "r")
    assert dumped.value("wave:0") == outcome
    assert {graph.way for graph in dumped.graphs()} == {"shadow"}


def test_a_shadow_that_fails_is_reported_and_the_step_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tensortap.capture.instrument.tapped_function import InstrumentedFunction

    def fail(*_: Any) -> Any:
        raise MemoryError("no room")

    monkeypatch.setattr(InstrumentedFunction, "call", fail)
    weight = tf.Variable(0.0)
    with Tap(tmp_path / "r", Watch(steps=1), exact=True) as tap:
        function = tap.function(lambda x: weight.assign_add(x).read_value())
        with pytest.warns(TapWarning, match="could not run as a shadow copy .MemoryError: no room"):
            assert function(tf.constant(1.0)) == 1.0
        assert function(tf.constant(1.0)) == 2.0
