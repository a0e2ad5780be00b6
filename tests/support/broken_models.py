"""Trains models, healthy and broken, into small dumps: `python broken_models.py LOGDIR`. Run as a process."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import keras
import nan_programs
import numpy as np
import tensorflow as tf
from sklearn.datasets import load_digits

from tensortap import Tap, Watch, every

STEPS = 24
BATCH = 32
Data = tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]
_EVERYTHING = [Watch(steps=every(2))]
_TELLING = [  # what rules look at; capturing everything takes seconds of tracing for large models
    Watch(steps=every(2), kinds=("input", "weight", "gradient", "output")),
    Watch(steps=every(2), nodes="loss|/(Relu|Tanh|Sigmoid|BiasAdd|add)(_[0-9]+)?$"),
]


def digits() -> Data:
    """Handwritten digits in 0…1, and their classes."""
    found = load_digits()
    return (found.images[..., None] / 16).astype(np.float32), found.target.astype(np.int32)


def rows(scale: float = 1.0, offset: float = 0.0) -> Data:
    """Three classes of eight features: mean 0 and deviation 1 unless scaled."""
    random = np.random.default_rng(0)
    y = random.integers(0, 3, 512)
    x = random.standard_normal((512, 8)) + 2 * np.eye(3, 8)[y]
    x = (x - x.mean(axis=0)) / x.std(axis=0)
    return (x * scale + offset).astype(np.float32), y.astype(np.int32)


def fit(
    logdir: Path,
    run: str,
    layers: list[Any],
    data: Data,
    *,
    optimizer: Any = "adam",
    loss: Any = None,
    watch: Any = None,
) -> None:
    """Trains a sequential model for `STEPS` steps."""
    model = keras.Sequential([keras.Input(data[0].shape[1:], dtype=data[0].dtype), *layers], name="model")
    train(logdir, run, model, data, optimizer=optimizer, loss=loss, watch=watch)


def train(
    logdir: Path, run: str, model: Any, data: Data, *, optimizer: Any, loss: Any = None, watch: Any = None
) -> None:
    loss = loss or keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(optimizer, loss, jit_compile=False)
    many = -(-STEPS * BATCH // len(data[0]))
    x, y = (np.concatenate([part] * many)[: STEPS * BATCH] for part in data)
    with Tap(logdir / run, watch=watch or _EVERYTHING) as tap:
        model.fit(x, y, batch_size=BATCH, epochs=1, shuffle=False, verbose=0, callbacks=[tap.callback()])


def dense(units: int, **options: Any) -> Any:
    return keras.layers.Dense(units, **options)


def healthy_cnn(logdir: Path, run: str) -> None:
    layers = [
        keras.layers.Conv2D(8, 3, activation="relu", name="conv1"),
        keras.layers.BatchNormalization(name="norm"),
        keras.layers.MaxPooling2D(2, name="pool"),
        keras.layers.Flatten(name="flat"),
        dense(10, name="logits"),
    ]
    fit(logdir, run, layers, digits(), optimizer=keras.optimizers.Adam(5e-3), watch=_TELLING)


def healthy_transformer(logdir: Path, run: str) -> None:
    random = np.random.default_rng(0)
    x = random.integers(1, 20, (256, 6)).astype(np.int32)
    y = (x[:, 0] > 10).astype(np.int32)
    inputs = keras.Input((6,), dtype="int32")
    width = keras.layers.Embedding(20, 16, name="embedding")(inputs)
    normal = keras.layers.LayerNormalization(name="norm")(width)
    attended = keras.layers.MultiHeadAttention(2, 8, name="attention")(normal, normal, use_causal_mask=True)
    width = width + attended
    width = width + dense(16, name="down")(dense(32, activation="gelu", name="up")(width))
    outputs = dense(2, name="logits")(keras.layers.GlobalAveragePooling1D(name="mean")(width))
    model = keras.Model(inputs, outputs, name="model")
    train(logdir, run, model, (x, y), optimizer=keras.optimizers.Adam(1e-2), watch=_TELLING)


def healthy_lstm(logdir: Path, run: str) -> None:
    x, y = rows()
    fit(
        logdir,
        run,
        [keras.layers.LSTM(8, name="lstm"), dense(3, name="logits")],
        (x.reshape(-1, 4, 2), y),
        optimizer=keras.optimizers.Adam(1e-2),
        watch=_TELLING,
    )


def healthy_autoencoder(logdir: Path, run: str) -> None:
    x = digits()[0].reshape(-1, 64)
    layers = [dense(16, activation="relu", name="code"), dense(64, activation="sigmoid", name="picture")]
    fit(logdir, run, layers, (x, x), optimizer=keras.optimizers.Adam(1e-2), loss="mse")


def dead_relu(logdir: Path, run: str) -> None:
    layers = [
        dense(16, activation="relu", bias_initializer=keras.initializers.Constant(-20.0), name="hidden"),
        dense(3, name="logits"),
    ]
    fit(logdir, run, layers, rows())


def vanishing(logdir: Path, run: str) -> None:
    narrow = keras.initializers.RandomNormal(stddev=0.05, seed=1)
    layers = [dense(8, activation="sigmoid", kernel_initializer=narrow, name=f"deep{i}") for i in range(8)]
    fit(logdir, run, [*layers, dense(3, name="logits")], rows(), optimizer="sgd")


def exploding_rnn(logdir: Path, run: str) -> None:
    """A chaotic recurrence: recurrent weights far too large."""
    x, y = rows(0.1)
    recurrent = keras.initializers.RandomNormal(stddev=1.0, seed=1)
    layers = [
        keras.layers.SimpleRNN(32, recurrent_initializer=recurrent, name="rnn"),
        dense(3, name="logits"),
    ]
    data = np.tile(x, (1, 3))[..., None], y
    fit(logdir, run, layers, data, optimizer=keras.optimizers.SGD(1e-4), watch=_TELLING)


def unnormalized(logdir: Path, run: str) -> None:
    fit(
        logdir,
        run,
        [dense(16, activation="tanh", name="hidden"), dense(3, name="logits")],
        rows(100.0, 300.0),
    )


def frozen(logdir: Path, run: str) -> None:
    hidden = dense(16, activation="relu", trainable=False, name="frozen")
    fit(logdir, run, [hidden, dense(3, name="logits")], rows())


def cut_off(logdir: Path, run: str) -> None:
    """What a layer learns from is rounded; so is what a frozen one gives, and nobody minds."""
    frozen_layer = dense(8, trainable=False, name="frozen")
    rounded = keras.layers.Lambda(lambda x: tf.round(x), output_shape=(8,), name="rounded")
    watch = [Watch(steps=every(2), kinds=("weight", "gradient", "loss"))]
    layers = [frozen_layer, dense(8, name="low"), rounded, dense(3, name="logits")]
    fit(logdir, run, layers, rows(), watch=watch)


def high_rate(logdir: Path, run: str) -> None:
    layers = [dense(16, activation="relu", name="hidden"), dense(3, name="logits")]
    fit(logdir, run, layers, rows(), optimizer=keras.optimizers.SGD(20.0))


def float16_overflow(logdir: Path, run: str) -> None:
    layers = [
        dense(16, dtype="float16", name="hidden"),
        keras.layers.Lambda(lambda x: x * x, dtype="float16", name="square"),
        dense(3, dtype="float16", name="logits"),
    ]
    fit(logdir, run, layers, rows(1000.0), optimizer=keras.optimizers.SGD(1e-3), watch=_values())


def _values() -> list[Any]:
    return [Watch(steps=every(1), keep="value")]


def log_of_zero(logdir: Path, run: str) -> None:
    def loss(y: Any, p: Any) -> Any:
        return -tf.reduce_sum(tf.one_hot(tf.cast(tf.reshape(y, [-1]), tf.int32), 3) * tf.math.log(p), axis=-1)

    layers = [dense(16, activation="relu", name="hidden"), dense(3, activation="softmax", name="probability")]
    fit(logdir, run, layers, rows(30.0), optimizer=keras.optimizers.SGD(1e-3), loss=loss, watch=_values())


def overfit(logdir: Path, run: str) -> None:
    """Labels that mean nothing, learnt by heart: other data is none the wiser."""
    random = np.random.default_rng(1)
    x = random.standard_normal((64, 16)).astype(np.float32)
    y = random.integers(0, 3, 64).astype(np.int32)
    model = keras.Sequential(
        [keras.Input((16,)), dense(128, activation="relu", name="hidden"), dense(3, name="logits")],
        name="model",
    )
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.Adam(1e-2), loss, jit_compile=False)
    with Tap(logdir / run, watch=_EVERYTHING) as tap:
        fit_options = {"validation_data": (x[32:], y[32:])} if run.endswith("_epochs") else {}
        model.fit(x[:32], y[:32], epochs=STEPS, verbose=0, callbacks=[tap.callback()], **fit_options)
        if not fit_options:
            model.evaluate(x[32:], y[32:], batch_size=8, verbose=0, callbacks=[tap.callback()])


def overfit_epochs(logdir: Path, run: str) -> None:
    """As `overfit`, validated by `fit` at the end of each epoch."""
    overfit(logdir, run)


def imbalanced(logdir: Path, run: str) -> None:
    x, y = rows()
    y = np.where(np.arange(len(y)) % 24 == 0, 1, 0).astype(np.int32)
    watch = [*_EVERYTHING, Watch(kinds=("input",), steps=every(1), keep="value")]
    fit(logdir, run, [dense(2, name="logits")], (x, y), watch=watch)


def subnormal(logdir: Path, run: str) -> None:
    """float16 without loss scaling: gradients fall below its smallest normal number, 6.1e-5."""
    layers = [
        dense(16, activation="sigmoid", dtype="float16", name="deep"),
        dense(16, activation="sigmoid", dtype="float16", name="middle"),
        dense(3, dtype="float16", name="logits"),
    ]
    fit(logdir, run, layers, rows(), optimizer=keras.optimizers.SGD(1e-3), loss=_weak)


def _weak(y: Any, logits: Any) -> Any:
    wanted = tf.cast(tf.reshape(y, [-1]), tf.int32)
    return tf.nn.sparse_softmax_cross_entropy_with_logits(wanted, logits) * tf.cast(0.01, logits.dtype)


def absorbed(logdir: Path, run: str) -> None:
    """bfloat16 weights without a float32 copy: w + 1e-4 * gradient == w."""
    layers = [
        dense(16, activation="relu", dtype="bfloat16", name="hidden"),
        dense(3, dtype="bfloat16", name="logits"),
    ]
    watch = [*_EVERYTHING, Watch(kinds=("weight", "gradient"), steps=every(1), keep="value")]
    fit(logdir, run, layers, rows(), optimizer=keras.optimizers.SGD(1e-4), watch=watch)


def low_rate(logdir: Path, run: str) -> None:
    layers = [dense(16, activation="relu", name="hidden"), dense(3, name="logits")]
    watch = [*_EVERYTHING, Watch(kinds=("weight",), steps=every(1), keep="value")]
    fit(logdir, run, layers, rows(), optimizer=keras.optimizers.SGD(1e-8), watch=watch)


def healthy_layers(logdir: Path, run: str) -> None:
    """Layers as Keras makes them, one behind the other."""
    random = np.random.default_rng(0)
    x = random.integers(1, 20, (256, 6)).astype(np.int32)
    inputs = keras.Input((6,), dtype="int32")
    after = keras.layers.LayerNormalization()(keras.layers.Embedding(20, 64)(inputs))
    backwards = keras.layers.GRU(4, return_sequences=True, go_backwards=True)
    ahead = keras.layers.LSTM(4, return_sequences=True)
    after = keras.layers.Bidirectional(ahead, backward_layer=backwards)(after)
    after = keras.layers.Conv2D(64, 3, padding="same")(keras.layers.Reshape((6, 8, 1))(after))
    after = keras.layers.BatchNormalization()(keras.layers.DepthwiseConv2D(3)(after))
    after = dense(256, activation="relu", kernel_initializer="he_normal")(keras.layers.Flatten()(after))
    after = dense(4, activation="tanh", kernel_initializer="orthogonal")(after)
    outputs = dense(2)(after)
    watch = [Watch(steps=every(8), kinds=("weight", "gradient"))]
    model = keras.Model(inputs, outputs, name="model")
    train(logdir, run, model, (x, (x[:, 0] > 10).astype(np.int32)), optimizer="adam", watch=watch)


def wide_init(logdir: Path, run: str, deviation: float = 1.0) -> None:
    begin = keras.initializers.RandomNormal(stddev=deviation, seed=1)
    layers = [
        dense(32, name="even"),
        dense(256, activation="relu", kernel_initializer=begin, name="odd"),
        dense(3, name="logits"),
    ]
    fit(logdir, run, layers, rows(), watch=[Watch(steps=every(8), kinds=("weight", "gradient"))])


def narrow_init(logdir: Path, run: str) -> None:
    wide_init(logdir, run, 1e-6)


def healthy_mixture(logdir: Path, run: str) -> None:
    """Four experts, of which each batch uses one."""
    x, y = rows()
    experts = [
        keras.Sequential([dense(16, activation="relu"), dense(8)], name=f"expert{n}") for n in range(4)
    ]
    head = dense(3, name="head")
    for layer in (*experts, head):
        layer.build((None, 8))
    variables = [variable for layer in (*experts, head) for variable in layer.trainable_variables]
    optimizer = keras.optimizers.Adam(1e-2)
    optimizer.build(variables)
    with Tap(logdir / run, watch=[Watch(steps=every(1))]) as tap:

        @tap.function
        def train_step(x: Any, y: Any, used: Any) -> Any:
            with tf.GradientTape() as tape:
                gates = tf.one_hot(used, len(experts))
                mixed = tf.add_n([expert(x) * gates[n] for n, expert in enumerate(experts)])
                loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(y, head(mixed)))
            optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
            return loss

        for step, used in enumerate(np.random.default_rng(3).integers(0, len(experts), STEPS)):
            with tap.step(step):
                train_step(*(tf.constant(part[step * 8 :][:BATCH]) for part in (x, y)), tf.constant(used))


def dies_late(logdir: Path, run: str) -> None:
    """A layer that learns, until its ReLU is pushed below 0."""

    class Push(keras.callbacks.Callback):  # type: ignore[misc]
        def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
            if batch == STEPS - 8:
                self.model.get_layer("hidden").bias.assign(np.full(16, -20.0))

    model = keras.Sequential(
        [keras.Input((8,)), dense(16, activation="relu", name="hidden"), dense(3, name="logits")],
        name="model",
    )
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.SGD(1e-2), loss, jit_compile=False)
    x, y = rows()
    x, y = (np.concatenate([part, part])[: STEPS * BATCH] for part in (x, y))
    with Tap(logdir / run, watch=[Watch(steps=every(1))]) as tap:
        model.fit(x, y, batch_size=BATCH, shuffle=False, verbose=0, callbacks=[Push(), tap.callback()])


MODELS: dict[str, Callable[[Path, str], None]] = {
    made.__name__: made
    for made in (
        *(
            healthy_cnn,
            healthy_transformer,
            healthy_lstm,
            healthy_autoencoder,
            healthy_mixture,
            healthy_layers,
        ),
        *(dead_relu, vanishing, exploding_rnn, unnormalized, frozen, high_rate, float16_overflow),
        *(
            log_of_zero,
            overfit,
            overfit_epochs,
            imbalanced,
            subnormal,
            absorbed,
            low_rate,
            cut_off,
            dies_late,
        ),
        *(wide_init, narrow_init),
    )
}


def main(logdir: Path, names: list[str]) -> None:
    for name in names or MODELS:
        keras.utils.set_random_seed(0)
        MODELS[name](logdir, name)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
    if not sys.argv[2:]:
        nan_programs.main(Path(sys.argv[1]))
