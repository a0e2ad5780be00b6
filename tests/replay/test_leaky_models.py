"""Models that let a batch, the future or padding in: the tests of a step's logic name where, and pass the
right ones beside them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

from tensortap.capture.tap import Tap
from tensortap.capture.watching.step_schedule import every
from tensortap.capture.watching.watch import Watch
from tensortap.core.errors import NotFoundError

Ask = Callable[..., Any]
NONE = Watch(steps=[10**6])
RANDOM = np.random.default_rng(0)
TOKENS = RANDOM.integers(1, 9, (8, 6))
TOKENS[::2, 4:] = 0
TOKENS[1, 5:] = 0


def fit(run_dir: Path, layers: list[Any], x: Any, *, batch: int = 8, **compiled: Any) -> Path:
    """The first call of training on `x` with one number a sample as the label."""
    model = keras.Sequential([keras.layers.Input(x.shape[1:], dtype=x.dtype.name), *layers], name="net")
    model.compile("sgd", "mse", **compiled)
    labels = RANDOM.standard_normal((len(x), 1)).astype("f")
    with Tap(run_dir, NONE, record=[0]) as tap:
        model.fit(x, labels, batch_size=batch, shuffle=False, verbose=0, callbacks=[tap.callback()])
    return run_dir


def record(run_dir: Path, step: Callable[[Any], Any], x: Any) -> Path:
    """A recorded call of a function of the user's own."""
    with Tap(run_dir, NONE, record=every(1)) as tap:
        tap.function(step)(tf.constant(x))
    return run_dir


def normalized(beside: str = "") -> list[Any]:
    mixing = [keras.layers.Lambda(lambda x: x - keras.ops.mean(x, 0), name=beside)] if beside else []
    return [*mixing, keras.layers.BatchNormalization(name="norm"), keras.layers.Dense(1, name="out")]


def test_several_steps_in_one_call_are_judged_by_the_first(ask: Ask, tmp_path: Path) -> None:
    x = RANDOM.standard_normal((32, 4)).astype("f")
    mixed = fit(tmp_path / "mixed", normalized(), x, steps_per_execution=4)
    found = ask(mixed, "test", step=0, test="batch")
    assert not found["passed"] and found["rows"][0]["tensor"].endswith("moments/SquaredDifference:0")
    once = ask(fit(tmp_path / "once", normalized(), x), "test", step=0, test="batch")
    assert found["summary"] == once["summary"]
    apart = [keras.layers.Dense(5, "tanh", name="hidden"), keras.layers.Dense(1, name="out")]
    found = ask(fit(tmp_path / "apart", apart, x, steps_per_execution=4), "test", step=0, test="batch")
    assert found["passed"] and int(found["summary"].split()[0]) > 5


@pytest.mark.nightly
def test_batch_normalization_is_excused_for_what_it_computes(ask: Ask, tmp_path: Path) -> None:
    """Own code in scopes that are called like its own is not."""
    x = RANDOM.standard_normal((8, 4)).astype("f")
    found = ask(fit(tmp_path / "norm", normalized("own"), x), "test", step=0, test="batch")
    assert "own" in found["rows"][0]["tensor"] and "expected" not in found["summary"]

    def moments(x: Any) -> Any:
        with tf.name_scope("moments"):
            x = tf.subtract(x, tf.reduce_mean(x, 0, name="mean"), name="SquaredDifference")
        with tf.name_scope("batchnorm"):
            return tf.add(x, tf.reduce_max(x, 0), name="add_1")

    found = ask(record(tmp_path / "own", moments, x), "test", step=0, test="batch")
    assert not found["passed"] and "expected" not in found["summary"]


@pytest.mark.parametrize(("of", "left"), [(tf.tanh, "4 of 5"), (lambda x: x, "4 of 4")])
def test_what_was_trained_before_in_the_step_is_said_to_be_skipped(
    ask: Ask, tmp_path: Path, of: Callable[[Any], Any], left: str
) -> None:
    w = tf.Variable(RANDOM.standard_normal((4, 4)).astype("f"), name="w")

    def step(x: Any) -> Any:
        w.assign_add(tf.matmul(x, of(x), transpose_a=True))
        h = tf.matmul(x, w)
        return tf.tanh(h - tf.reduce_mean(h, 0))

    path = record(tmp_path / "r", step, RANDOM.standard_normal((8, 4)).astype("f"))
    with pytest.raises(NotFoundError, match=f"Most of the step cannot be checked: {left} tensors depend on"):
        ask(path, "test", step=0, test="batch")


def test_a_scope_or_function_named_after_gradients_is_looked_at(ask: Ask, tmp_path: Path) -> None:
    w = tf.Variable(RANDOM.standard_normal((4, 4)).astype("f"), name="w")

    def compute_gradients(x: Any) -> Any:
        with tf.GradientTape() as tape, tf.name_scope("gradient_reversal"):
            h = tf.matmul(x, w)
            loss = tf.reduce_mean(tf.square(tf.subtract(h, tf.reduce_mean(h, 0), name="mixed")))
        w.assign_sub(0.1 * tape.gradient(loss, w))
        return loss

    path = record(tmp_path / "r", compute_gradients, RANDOM.standard_normal((8, 4)).astype("f"))
    found = ask(path, "test", step=0, test="batch")
    assert [row["tensor"] for row in found["rows"]] == ["gradient_reversal/mixed:0"]


def recurrent(masked: bool) -> list[Any]:
    """Layers with one loop forward and one backward along the positions."""
    both = keras.layers.Bidirectional(keras.layers.SimpleRNN(3, return_sequences=True), name="both")
    return [
        keras.layers.Embedding(9, 4, mask_zero=masked, name="embedding"),
        both,
        keras.layers.GRU(6, name="gru"),
    ]


@pytest.mark.parametrize("batch", [8, pytest.param(6, marks=pytest.mark.nightly)])
def test_padding_in_loops_over_positions(ask: Ask, tmp_path: Path, batch: int) -> None:
    """Also of as many samples, and as many features, as positions."""
    for masked in (True, False):
        model = keras.Sequential(recurrent(masked), name="net")
        model.build((None, 6))
        path = record(tmp_path / f"{masked}", model, TOKENS[:batch])
        found = ask(path, "test", step=0, test="padding")
        assert found["passed"] == masked and int(found["summary"].split()[0]) > 50, found
    assert any("both" in row["tensor"] for row in found["rows"])


@pytest.mark.nightly
def test_padding_in_several_steps_of_one_call(ask: Ask, tmp_path: Path) -> None:
    layers = [keras.layers.Embedding(9, 4, mask_zero=True), keras.layers.SimpleRNN(3), keras.layers.Dense(1)]
    path = fit(tmp_path / "r", layers, TOKENS, batch=4, steps_per_execution=2)
    found = ask(path, "test", step=0, test="padding")
    assert found["passed"] and int(found["summary"].split()[0]) > 10, found


def test_a_causal_mask_off_by_one_is_named_at_the_softmax(ask: Ask, tmp_path: Path) -> None:
    x = RANDOM.standard_normal((3, 6, 4)).astype("f")

    def attending(ahead: int) -> Callable[[Any], Any]:
        seen = np.tril(np.ones((6, 6), "f"), ahead)

        def step(x: Any) -> Any:
            scores = tf.matmul(x, x, transpose_b=True) - 1e9 * (1 - seen)
            return tf.matmul(tf.nn.softmax(scores, name="weights"), x)

        return step

    assert ask(record(tmp_path / "right", attending(0), x), "test", step=0, test="causal")["passed"]
    found = ask(record(tmp_path / "wrong", attending(1), x), "test", step=0, test="causal")
    assert [(row["tensor"], row["op_type"]) for row in found["rows"]] == [("weights:0", "Softmax")]


def test_mean_pooling_over_padding_is_named(ask: Ask, tmp_path: Path) -> None:
    def pooled(masked: bool) -> list[Any]:
        embedding = keras.layers.Embedding(9, 4, mask_zero=masked, name="embedding")
        return [
            embedding,
            keras.layers.GlobalAveragePooling1D(name="pool"),
            keras.layers.Dense(1, name="out"),
        ]

    assert ask(fit(tmp_path / "right", pooled(True), TOKENS), "test", step=0, test="padding")["passed"]
    found = ask(fit(tmp_path / "wrong", pooled(False), TOKENS), "test", step=0, test="padding")
    assert ["pool" in row["tensor"] and row["op_type"] for row in found["rows"]] == ["Mean"]


@pytest.mark.nightly
def test_a_normalization_over_time_is_named(ask: Ask, tmp_path: Path) -> None:
    x = RANDOM.standard_normal((8, 6, 4)).astype("f")

    def normal(axis: Any) -> list[Any]:
        layers = [
            keras.layers.LayerNormalization(axis=axis, name="normal"),
            keras.layers.Dense(2, name="two"),
        ]
        return [*layers, keras.layers.Flatten(), keras.layers.Dense(1, name="out")]

    assert ask(fit(tmp_path / "right", normal(-1), x), "test", step=0, test="causal")["passed"]
    found = ask(fit(tmp_path / "wrong", normal([1, 2]), x), "test", step=0, test="causal")
    assert found["rows"] and all("net_1/normal_1/" in row["tensor"] for row in found["rows"]), found["rows"]


@pytest.mark.nightly
def test_images_and_features_are_no_sequences(ask: Ask, tmp_path: Path) -> None:
    apart = [keras.layers.Dense(3, name="hidden"), keras.layers.Dense(1, name="out")]
    features = fit(tmp_path / "features", apart, RANDOM.standard_normal((8, 4)).astype("f"))
    images = "The inputs are images, not sequences: .*convolves over the 8 rows"
    for run, step, reported in (("cnn", 1, images), (features, 0, "The step has no sequences")):
        with pytest.raises(NotFoundError, match=reported):
            ask(run, "test", step=step, test="causal")
