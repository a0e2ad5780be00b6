"""Capturing leaves every bit of the training as it was."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf
from dumped import Dumped
from small_models import BATCH, CLASSES, cnn, compiled, transformer, weights_of

from tensortap.capture.tap import Tap
from tensortap.capture.watching.watch import Watch

STEPS = 12
MERGING_OFF = {"arithmetic_optimization": False, "constant_folding": False}


def images() -> np.ndarray[Any, Any]:
    return np.random.default_rng(2).standard_normal((STEPS * BATCH, 8, 8, 2)).astype(np.float32)


def sentences() -> np.ndarray[Any, Any]:
    return np.random.default_rng(2).integers(0, 11, (STEPS * BATCH, 5)).astype(np.int32)


def merging() -> keras.Model:
    """Layers whose operations TensorFlow merges with what follows, unless somebody looks in between."""
    keras.utils.set_random_seed(0)
    inputs = keras.layers.Input((8, 8, 2))
    x = keras.layers.Rescaling(2.0, -1.0)(inputs)
    for index, activation in enumerate(["gelu", "swish", "elu", "tanh"]):
        x = keras.layers.Conv2D(4, 3, padding="same", activation=activation)(x)
        x = keras.layers.Dropout(0.1 * index)(x) * 0.5
    x = keras.layers.Dense(8, "sigmoid")(keras.layers.Flatten()(x)) * 3.0
    return compiled(keras.Model(inputs, keras.layers.Dense(CLASSES)(x), name="merging"), optimizer="adam")


LAYERS = Watch(kinds=["output", "gradient", "weight"], steps=1)
EVERYTHING = Watch(steps=1)


@pytest.mark.parametrize(
    ("make", "inputs", "watch"),
    [
        pytest.param(make, inputs, watch, marks=[] if of_a_day else [pytest.mark.nightly], id=name)
        for make, inputs, watch, name, of_a_day in (
            (cnn, images, LAYERS, "cnn-layers", True),
            (cnn, images, EVERYTHING, "cnn-everything", True),
            (transformer, sentences, LAYERS, "transformer-layers", False),
            (transformer, sentences, EVERYTHING, "transformer-everything", True),
            (merging, images, LAYERS, "merging-layers", False),
            (merging, images, EVERYTHING, "merging-everything", True),
        )
    ],
)
def test_weights_are_bit_identical(
    tmp_path: Path, make: Callable[[], keras.Model], inputs: Callable[[], np.ndarray[Any, Any]], watch: Watch
) -> None:
    x = inputs()
    y = np.random.default_rng(3).integers(0, CLASSES, len(x))

    def trained(*callbacks: keras.callbacks.Callback) -> list[bytes]:
        model = make()
        model.fit(x, y, batch_size=BATCH, verbose=0, callbacks=list(callbacks))
        return weights_of(model)

    assert trained(Tap(tmp_path / "r", watch).callback()) == trained()
    assert (tmp_path / "r").exists()


def with_nan(x: Any) -> Any:
    return tf.where(x > 2.5, np.nan, x)


SHAPE = (64, 32)
FUNCTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "constants": lambda x, w: tf.exp((x * 0.3) * 0.7 / 1.1),
    "gelu": lambda x, w: tf.nn.gelu(tf.nn.bias_add(x @ w, w[0])) * 0.3,
    "approximate gelu": lambda x, w: tf.nn.gelu(tf.nn.bias_add(x @ w, w[0]), approximate=True),
    "swish": lambda x, w: tf.nn.silu(x) * 0.3,
    "kernel with activation": lambda x, w: tf.nn.tanh(tf.nn.bias_add(x @ w, w[0])),
    "sum": lambda x, w: tf.add_n([tf.sin(x) @ w, x / 3.0, tf.exp(x), tf.cos(x) @ w]),
    "named sum": lambda x, w: tf.add_n([tf.matmul(x + i, w, name=name) for i, name in enumerate("cba")]),
    "shared factor": lambda x, w: x * (tf.sin(x) + w[0]) + x * tf.exp(x),
    "doubled": lambda x, w: functools.reduce(lambda total, _: total + total, range(2), tf.sin(x) + w[0]) + x,
    "optimizer": lambda x, w: x - 0.01 * (x * 0.9 + tf.sin(x) * 0.1) / (tf.sqrt(tf.square(x) * 0.999) + 1e-7),
    "normalization": lambda x, w: tf.nn.relu(
        tf.nn.batch_normalization(x @ w, *tf.nn.moments(x @ w, 0), w[0], w[1], 1e-3)
    ),
    "added bias": lambda x, w: tf.sigmoid(x @ w + w[0]),
    "residual": lambda x, w: tf.nn.bias_add(x @ w, w[0]) + x,
    "scaled and masked": lambda x, w: (tf.reshape(x, (2, 2, 16, 32)) @ w[None, None]) * 0.3 + w[:16],
    "frozen normalization": lambda x, w: tf.compat.v1.nn.fused_batch_norm(
        tf.nn.conv2d(tf.reshape(x, (4, 4, 16, 8)), tf.reshape(w[:18], (3, 3, 8, 8)), 1, "SAME"),
        w[0, :8],
        w[1, :8],
        w[2, :8],
        tf.abs(w[3, :8]) + 1.0,
        is_training=False,
    )[0],
    "16 bits": lambda x, w: tf.cast(
        tf.nn.relu(
            tf.nn.bias_add(tf.cast(x, tf.bfloat16) @ tf.cast(w, tf.bfloat16), tf.cast(w[0], tf.bfloat16))
        ),
        tf.float32,
    ),
    "chain": lambda x, w: functools.reduce(lambda total, _: total * 0.999, range(8), x),
    "unused": lambda x, w: (x * 0.3, tf.identity(x * 0.3))[0] * 0.7,
    "clipped NaN": lambda x, w: tf.nn.relu(tf.nn.bias_add(with_nan(x) @ w, w[0])),
    "clipped and scaled NaN": lambda x, w: tf.nn.relu6(tf.nn.bias_add(with_nan(x) @ w, w[0])) * w[1],
    "log softmax": lambda x, w: tf.math.log(tf.nn.softmax(x * 200.0)) * 0.3,
    "twins": lambda x, w: (lambda g: (x * 0.9 - g * w[0]) * 0.9 - w[0] * g)(tf.sin(x) * w[1]),
    "unary": lambda x, w: tf.tanh(tf.sigmoid(tf.exp(x))),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_results_are_bit_identical_with_each_operation_tapped(tmp_path: Path, name: str) -> None:
    random = np.random.default_rng(4)
    x = tf.constant(random.standard_normal(SHAPE), tf.float32)
    w = tf.constant(random.standard_normal((SHAPE[1], SHAPE[1])), tf.float32)
    plain = tf.function(FUNCTIONS[name])(x, w).numpy()

    with Tap(tmp_path / "all", EVERYTHING) as tap:
        assert tap.function(FUNCTIONS[name])(x, w).numpy().tobytes() == plain.tobytes()

    names = Dumped(tmp_path / "all").names
    assert len(names) > 3 and not any("duplicate" in dumped for dumped in names)
    for number, dumped in enumerate(sorted(names)):
        with Tap(tmp_path / f"{number}", Watch(nodes=f"^{re.escape(dumped)}$", steps=1)) as tap:
            assert tap.function(FUNCTIONS[name])(x, w).numpy().tobytes() == plain.tobytes(), dumped


LOSSES: dict[str, Callable[[Any], Any]] = {
    "two means": lambda x: tf.reduce_mean(tf.square(x)) + tf.reduce_mean(tf.square(x * 2.0)),
    "three reductions": lambda x: (
        0.25 * tf.reduce_mean(tf.square(x)) + tf.reduce_mean(tf.abs(x)) + tf.nn.l2_loss(x)
    ),
    "a mean and a layer's loss": lambda x: (
        tf.reduce_mean(tf.square(x)) / 0.3 + (0 + (0.25 * tf.reduce_mean(tf.abs(x)) + tf.reduce_mean(x)))
    ),
    "vector quantization": lambda x: (
        tf.reduce_mean((x - x[::-1] * 0.1) ** 2) / 0.3
        + (
            0
            + (
                0.25 * tf.reduce_mean((tf.stop_gradient(tf.round(x)) - x) ** 2)
                + tf.reduce_mean((tf.round(x) - tf.stop_gradient(x)) ** 2)
            )
        )
    ),
}


@pytest.mark.parametrize("name", LOSSES)
def test_a_loss_of_several_terms_that_is_averaged(tmp_path: Path, name: str) -> None:
    def reported(tap: Tap | None) -> list[tuple[bytes, bytes]]:
        average = keras.metrics.Mean()

        def step(x: Any) -> Any:
            loss = LOSSES[name](x)
            average.update_state(loss)  # sums the scalar before it adds it
            return loss, average.result()

        run = tf.function(step) if tap is None else tap.function(step)
        results = map(run, tf.unstack(tf.random.stateless_normal((30, 16, 6), (1, 2))))
        return [(loss.numpy().tobytes(), mean.numpy().tobytes()) for loss, mean in results]

    with Tap(tmp_path / "r", EVERYTHING) as tap:
        assert reported(tap) == reported(None)


def test_long_chains(tmp_path: Path) -> None:
    def chain(x: Any) -> Any:
        for _ in range(1200):  # more than Python's recursion limit
            x = tf.sin(x)
        return x

    x = tf.constant(np.random.default_rng(4).standard_normal(100), tf.float32)
    plain = tf.function(chain)(x).numpy()
    with Tap(tmp_path / "r", EVERYTHING) as tap:
        assert tap.function(chain)(x).numpy().tobytes() == plain.tobytes()
    assert len(Dumped(tmp_path / "r").names) >= 1200


def test_what_nothing_needs_is_not_made_to_run(tmp_path: Path) -> None:
    def step(x: Any, n: Any) -> Any:
        tf.constant([10]) // n
        return x * 2.0

    with Tap(tmp_path / "r", EVERYTHING) as tap:
        assert tap.function(step)(tf.constant([1.0]), tf.constant(0)).numpy().tolist() == [2.0]
    assert not any("floordiv" in name for name in Dumped(tmp_path / "r").names)


def test_tensors_that_are_passed_on_twice(tmp_path: Path) -> None:
    def step(x: Any) -> Any:
        for _ in range(40):
            x = tf.identity_n([x, x])[0]
        return x * 2.0

    with Tap(tmp_path / "r", Watch(nodes="IdentityN", steps=1)) as tap:
        assert tap.function(step)(tf.constant([1.0])).numpy().tolist() == [2.0]


def test_everything_is_bit_identical_without_the_optimizers_that_merge(tmp_path: Path) -> None:
    x = sentences()
    y = np.random.default_rng(3).integers(0, CLASSES, len(x))
    before = tf.config.optimizer.get_experimental_options()
    tf.config.optimizer.set_experimental_options(MERGING_OFF)
    try:
        weights = []
        for callbacks in ([], [Tap(tmp_path / "r", Watch(steps=2)).callback()]):
            model = transformer()
            model.fit(x, y, batch_size=BATCH, verbose=0, callbacks=callbacks)
            weights.append(weights_of(model))
        assert weights[0] == weights[1]
    finally:
        tf.config.optimizer.set_experimental_options({**dict.fromkeys(MERGING_OFF, True), **before})
