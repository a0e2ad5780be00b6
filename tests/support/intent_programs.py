"""Programs with one common mistake each, and the same without it: `python intent_programs.py LOGDIR [RUN …]`.

Each trains a small model as Keras' and TensorFlow's examples do, into the run `<name>-broken` or
`<name>-healthy`. Run as a process.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import keras
import numpy as np
import tensorflow as tf
from sklearn.datasets import load_digits

from tensortap import Tap, Watch, every

STEPS = 30
BATCH = 32
Array = np.ndarray[Any, Any]
Program = Callable[[Path, str, bool], None]

WATCH = [
    Watch(steps=every(2), kinds=("input", "weight", "gradient", "output"), keep="value"),
    Watch(
        steps=every(2),
        nodes="loss|Softmax|dropout|model_1/(add|truediv)$|^adam/mul$|^(sgd|adam)[^/]*/Cast/Read",
        keep="value",
    ),
]


def digits() -> tuple[Array, Array]:
    """Handwritten digits in 0…1, and their classes."""
    found = load_digits()
    return (found.images[..., None] / 16).astype(np.float32), found.target.astype(np.int32)


def table(seed: int = 0) -> tuple[Array, Array]:
    """Three classes of eight features, normalized."""
    random = np.random.default_rng(seed)
    y = random.integers(0, 3, 512)
    x = random.standard_normal((512, 8)) + 2 * np.eye(3, 8)[y]
    return ((x - x.mean(0)) / x.std(0)).astype(np.float32), y.astype(np.int32)


def fit(
    logdir: Path, run: str, model: Any, x: Array, y: Array, *, steps: int = STEPS, **options: Any
) -> None:
    model.compile(**{"jit_compile": False, "optimizer": "adam"} | options)
    many = -(-steps * BATCH // len(x))
    x, y = (np.concatenate([part] * many)[: steps * BATCH] for part in (x, y))
    with Tap(logdir / run, watch=WATCH) as tap:
        model.fit(x, y, batch_size=BATCH, shuffle=False, verbose=0, callbacks=[tap.callback()])


def mlp(*, classes: int = 3, activation: str | None = None, inputs: int = 8, hidden: Any = ()) -> Any:
    layers = keras.layers
    return keras.Sequential(
        [
            keras.Input((inputs,)),
            layers.Dense(32, activation="relu", name="hidden"),
            *hidden,
            layers.Dense(classes, activation=activation, name="head"),
        ],
        name="mlp",
    )


def probabilities_as_logits(logdir: Path, run: str, broken: bool) -> None:
    """Softmax in the model and again in the loss. (Keras' own losses notice.)"""
    model = mlp(activation="softmax" if broken else None)
    loop(logdir, run, model, model.trainable_variables, *table(), loss_of=sparse_loss)


def sparse_loss(labels: Any, outputs: Any) -> Any:
    return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels, outputs))


def sigmoid_loss(labels: Any, outputs: Any) -> Any:
    positive = tf.cast(labels > 0, tf.float32)[:, None]
    return tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(positive, outputs))


def logits_as_probabilities(logdir: Path, run: str, broken: bool) -> None:
    """No softmax in the model, none in the loss."""
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=not broken)
    fit(logdir, run, mlp(), *table(), loss=loss)


def sigmoid_as_logits(logdir: Path, run: str, broken: bool) -> None:
    """A sigmoid in the model and again in the loss."""
    model = mlp(classes=1, activation="sigmoid" if broken else None)
    loop(logdir, run, model, model.trainable_variables, *table(), loss_of=sigmoid_loss)


def frozen_norm(logdir: Path, run: str, broken: bool) -> None:
    """A loop of one's own calls the model with training=False: the moving averages stay as they began."""
    x, y = digits()
    layers = keras.layers
    model = keras.Sequential(
        [
            keras.Input((8, 8, 1)),
            layers.Conv2D(8, 3, name="conv"),
            layers.BatchNormalization(name="norm"),
            layers.Activation("relu"),
            layers.Flatten(),
            layers.Dense(10, name="head"),
        ]
    )
    loop(logdir, run, model, model.trainable_variables, x, y, training=not broken)


def forgotten_encoder(logdir: Path, run: str, broken: bool) -> None:
    """Only the head's variables are given to the tape and the optimizer."""
    x, y = table()
    encoder = keras.Sequential(
        [keras.Input((8,)), keras.layers.Dense(16, activation="relu", name="inner")], name="encoder"
    )
    head = keras.layers.Dense(3, name="head")
    model = keras.Sequential([keras.Input((8,)), encoder, head], name="whole")
    loop(logdir, run, model, head.trainable_variables if broken else model.trainable_variables, x, y)


def loop(
    logdir: Path,
    run: str,
    model: Any,
    variables: Any,
    x: Array,
    y: Array,
    *,
    training: bool = True,
    loss_of: Any = None,
) -> None:
    """A training loop as TensorFlow's guide writes it."""
    loss_of = loss_of or keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    optimizer = keras.optimizers.Adam(1e-3)
    with Tap(logdir / run, watch=WATCH) as tap:

        @tap.function
        def train_step(batch: Any, labels: Any) -> Any:
            with tf.GradientTape() as tape:
                loss = loss_of(labels, model(batch, training=training))
            optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
            return loss

        for number in range(STEPS):
            rows = np.arange(number * BATCH, (number + 1) * BATCH) % len(x)
            train_step(tf.constant(x[rows]), tf.constant(y[rows]))


def labels_as_feature(logdir: Path, run: str, broken: bool) -> None:
    """A table whose column 5 is the label."""
    x, y = table()
    if broken:
        x = x.copy()
        x[:, 5] = y
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    fit(logdir, run, mlp(), x, y, loss=loss)


def keep_probability(logdir: Path, run: str, broken: bool) -> None:
    """The share to keep given as the share to drop."""
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    dropout = keras.layers.Dropout(0.95 if broken else 0.3, name="drop")
    fit(logdir, run, mlp(hidden=[dropout]), *table(), loss=loss)


def large_rate(logdir: Path, run: str, broken: bool) -> None:
    x, y = table()
    optimizer = keras.optimizers.SGD(50.0 if broken else 0.05)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    fit(
        logdir,
        run,
        mlp(hidden=[keras.layers.Dense(32, activation="relu")]),
        x,
        y,
        loss=loss,
        optimizer=optimizer,
    )


def wrong_sign(logdir: Path, run: str, broken: bool) -> None:
    """The loss is maximized."""
    inner = keras.losses.SparseCategoricalCrossentropy(from_logits=True)

    def loss(labels: Any, outputs: Any) -> Any:
        return -inner(labels, outputs) if broken else inner(labels, outputs)

    fit(logdir, run, mlp(), *table(), loss=loss, optimizer=keras.optimizers.Adam(0.05))


def relu_head(logdir: Path, run: str, broken: bool) -> None:
    """A regression of negative targets by an output that cannot be negative."""
    x, _ = table()
    y = (x @ np.linspace(-1, 1, 8) - 8).astype(np.float32)[:, None]
    fit(logdir, run, mlp(classes=1, activation="relu" if broken else None), x, y, loss="mse")


def pixels(logdir: Path, run: str, broken: bool) -> None:
    """Pixels of 0 … 255 instead of 0 … 1."""
    x, y = digits()
    x = x.reshape(len(x), -1) * (255 if broken else 1)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    fit(logdir, run, mlp(classes=10, inputs=64), x, y, loss=loss)


def all_zero_kernel(logdir: Path, run: str, broken: bool) -> None:
    """Kernels that begin at zero."""
    kind = "zeros" if broken else "glorot_uniform"
    hidden = [keras.layers.Dense(16, activation="relu", kernel_initializer=kind, name="empty")]
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    fit(logdir, run, mlp(hidden=hidden), *table(), loss=loss)


def layer_never_called(logdir: Path, run: str, broken: bool) -> None:
    """The model's call leaves one of its layers out."""

    class Model(keras.Model):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__(name="model")
            self.second = keras.layers.Dense(32, activation="relu", name="second")  # never called
            self.second.build((None, 8))
            self.inner = mlp()

        def call(self, x: Any) -> Any:
            return self.inner(x if broken else x + self.second(x)[:, :8])

    fit(logdir, run, Model(), *table(), loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True))


def exploding_rate(logdir: Path, run: str, broken: bool) -> None:
    """A regression that ends in NaN, as its weights grow from step to step."""
    x, _ = table()
    y = (x @ np.linspace(-1, 1, 8) * 3).astype(np.float32)[:, None]
    optimizer = keras.optimizers.SGD(0.8 if broken else 0.01)
    fit(logdir, run, mlp(classes=1), x, y, loss="mse", optimizer=optimizer)


def stopped_gradient(logdir: Path, run: str, broken: bool) -> None:
    """A gradient that is stopped between two layers, although both are to be trained."""
    inputs = keras.Input((8,))
    hidden = keras.layers.Dense(32, activation="relu", name="low")(inputs)
    if broken:
        hidden = keras.ops.stop_gradient(hidden)  # stopped
    model = keras.Model(inputs, keras.layers.Dense(3, name="head")(hidden))
    fit(logdir, run, model, *table(), loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True))


def autoencoder(logdir: Path, run: str, broken: bool) -> None:
    """What it learns is its input: no label among the inputs. Broken: the output cannot be that small."""
    x, _ = table()
    model = mlp(classes=8, activation="sigmoid" if broken else None)
    fit(logdir, run, model, x, x, loss="mse", optimizer=keras.optimizers.Adam(1e-2))


def relu_logits(logdir: Path, run: str, broken: bool) -> None:
    """Logits that went through a ReLU."""
    model = mlp(activation="relu" if broken else None)
    fit(logdir, run, model, *table(), loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True))


def shuffled_labels(logdir: Path, run: str, broken: bool) -> None:
    """Labels in another order than their inputs."""
    x, y = table()
    y = np.random.default_rng(1).permutation(y) if broken else y
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    fit(logdir, run, mlp(), x, y, loss=loss, steps=80)


def tanh_logits(logdir: Path, run: str, broken: bool) -> None:
    """Logits that went through a tanh."""
    model = mlp(activation="tanh" if broken else None)
    fit(logdir, run, model, *table(), loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True))


def blank_inputs(logdir: Path, run: str, broken: bool) -> None:
    """Inputs that a cast to integers made 0."""
    x, y = digits()
    x = x.reshape(-1, 64)
    x = (x * 0.99).astype(np.int32).astype(np.float32) if broken else x
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    fit(logdir, run, mlp(classes=10, inputs=64), x, y, loss=loss)


def pixels_divided_twice(logdir: Path, run: str, broken: bool) -> None:
    """The model divides by 255 what is in 0…1."""
    x, y = digits()
    scale = keras.layers.Rescaling(1 / 255 if broken else 1.0)
    model = keras.Sequential([keras.Input((8, 8, 1)), scale, keras.layers.Flatten(), keras.layers.Dense(10)])
    fit(logdir, run, model, x, y, loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True))


def labels_from_one(logdir: Path, run: str, broken: bool) -> None:
    """Labels 1 … 3, which a one-hot encoding counts from 0."""
    x, y = table()
    model = mlp()

    def loss_of(labels: Any, outputs: Any) -> Any:
        return tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(tf.one_hot(labels, 3), outputs))

    loop(logdir, run, model, model.trainable_variables, x, y + broken, loss_of=loss_of)


def untracked_layer(logdir: Path, run: str, broken: bool) -> None:
    """A layer in an object that Keras does not search for layers."""

    class Holder:
        def __init__(self) -> None:
            self.layer = keras.layers.Dense(32, activation="relu", name="first")

    class Model(keras.Model):
        def __init__(self) -> None:
            super().__init__()
            self.holder, self.head = Holder(), keras.layers.Dense(3, name="head")
            if not broken:
                self.first = self.holder.layer

        def call(self, x: Any) -> Any:
            return self.head(self.holder.layer(x))

    x, y = table()
    model = Model()
    model(x[:1])
    loop(logdir, run, model, model.trainable_variables, x, y, loss_of=sparse_loss)


def softmax_of_one(logdir: Path, run: str, broken: bool) -> None:
    """One output of two classes that goes through a softmax."""
    x, y = table()
    model = mlp(classes=1, activation="softmax" if broken else "sigmoid")
    fit(logdir, run, model, x, (y > 0).astype(np.float32)[:, None], loss="binary_crossentropy")


def softmax_over_batch(logdir: Path, run: str, broken: bool) -> None:
    """A softmax over the samples of a batch."""
    model = mlp(hidden=[keras.layers.Dense(8), keras.layers.Softmax(axis=0 if broken else -1)])
    fit(logdir, run, model, *table(), loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True))


def broadcast_targets(logdir: Path, run: str, broken: bool) -> None:
    """Outputs of shape (32, 1) less targets of shape (32,)."""
    x, y = table()
    model, optimizer = mlp(classes=1), keras.optimizers.Adam(1e-2)
    with Tap(logdir / run, watch=WATCH) as tap:

        @tap.function
        def train_step(x: Any, y: Any) -> Any:
            with tf.GradientTape() as tape:
                outputs = model(x, training=True)
                loss = tf.reduce_mean((y - (outputs if broken else outputs[:, 0])) ** 2)  # broadcast
            gradients = tape.gradient(loss, model.trainable_variables)
            optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
            return loss

        for start in range(0, 12 * BATCH, BATCH):
            part = slice(start, start + BATCH)
            train_step(tf.constant(x[part]), tf.constant(y[part], tf.float32))


def attention(logdir: Path, run: str, axis: int, mask: float) -> None:
    """Self-attention with a causal mask, its softmax over an axis."""
    x = np.random.default_rng(0).standard_normal((BATCH * STEPS, 6, 8)).astype(np.float32)
    query, key, value = (keras.layers.Dense(8, name=name) for name in ("query", "key", "value"))
    head = keras.layers.Dense(3, name="head")

    class Model(keras.Model):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.parts = [query, key, value, head]
            self.drop = keras.layers.Dropout(0.1)

        def call(self, x: Any) -> Any:
            scores = tf.matmul(query(x), key(x), transpose_b=True) / 8**0.5
            scores += mask * (1 - tf.linalg.band_part(tf.ones((6, 6)), -1, 0))  # masked
            weights = tf.nn.softmax(scores, axis=axis)  # over an axis
            return head(tf.reduce_mean(tf.matmul(self.drop(weights), value(x)), 1))

    y = np.random.default_rng(1).integers(0, 3, len(x)).astype(np.int32)
    fit(logdir, run, Model(), x, y, loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True))


def softmax_over_queries(logdir: Path, run: str, broken: bool) -> None:
    """A softmax over the queries instead of the keys."""
    attention(logdir, run, 1 if broken else 2, -1e9)


def positive_mask(logdir: Path, run: str, broken: bool) -> None:
    """A mask that adds where it should subtract."""
    attention(logdir, run, 2, 1e9 if broken else -1e9)


def weights_as_column(logdir: Path, run: str, broken: bool) -> None:
    """Weights of shape (32, 1) times losses of shape (32,)."""
    x, y = table()
    model = mlp()
    optimizer = keras.optimizers.Adam(1e-2)
    with Tap(logdir / run, watch=WATCH) as tap:

        @tap.function
        def train_step(x: Any, y: Any, weights: Any) -> Any:
            with tf.GradientTape() as tape:
                losses = tf.nn.sparse_softmax_cross_entropy_with_logits(y, model(x, training=True))
                loss = tf.reduce_mean(losses * (weights if broken else weights[:, 0]))  # weighted
            gradients = tape.gradient(loss, model.trainable_variables)
            optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
            return loss

        for start in range(0, 12 * BATCH, BATCH):
            part = slice(start, start + BATCH)
            train_step(tf.constant(x[part]), tf.constant(y[part]), tf.ones((BATCH, 1)) / 2)


def constant_pixels(logdir: Path, run: str, broken: bool) -> None:
    """Pixels that were clipped at 1 after a wrong scale."""
    x, y = digits()
    x = np.clip(x.reshape(-1, 64) * 255 + 1, 0, 1) if broken else x.reshape(-1, 64)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    fit(logdir, run, mlp(classes=10, inputs=64), x.astype(np.float32), y, loss=loss)


def falling_loss(logdir: Path, run: str, broken: bool) -> None:
    """A squared error with the wrong sign: the loss falls without bound."""

    def loss_of(labels: Any, outputs: Any) -> Any:
        return tf.square(labels - outputs) * (-1.0 if broken else 1.0)

    x, _ = table()
    y = (x @ np.linspace(-1, 1, 8)).astype(np.float32)[:, None]
    fit(logdir, run, mlp(classes=1), x, y, loss=loss_of, optimizer=keras.optimizers.SGD(0.1))


def softmax_over_rows(logdir: Path, run: str, broken: bool) -> None:
    """Segmentation whose softmax is over the rows of the pictures instead of the classes."""
    x, _ = digits()
    layers = keras.layers
    softmax = layers.Softmax(axis=1 if broken else -1)  # over an axis of pixels
    model = keras.Sequential([keras.Input((8, 8, 1)), layers.Conv2D(2, 3, padding="same"), softmax])
    fit(logdir, run, model, x, (x[..., 0] > 0.5).astype(np.int32), loss="sparse_categorical_crossentropy")


def warm_up_of_zero(logdir: Path, run: str, broken: bool) -> None:
    """A warm-up that divides whole numbers."""

    class WarmUp(keras.optimizers.schedules.LearningRateSchedule):  # type: ignore[misc]
        def __call__(self, step: Any) -> Any:
            step = tf.cast(step, tf.int32) + 1
            share = step // 1000 if broken else step / 10  # whole numbers
            return 1e-3 * tf.minimum(tf.cast(share, tf.float32), 1.0)

    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    fit(logdir, run, mlp(), *table(), loss=loss, optimizer=keras.optimizers.Adam(WarmUp()))


PROGRAMS: dict[str, tuple[Program, str]] = {  # name -> the program, and the rule that must find the mistake
    program.__name__: (program, rule)
    for program, rule in (
        (probabilities_as_logits, "LossInputMismatch"),
        (logits_as_probabilities, "LossInputMismatch"),
        (sigmoid_as_logits, "LossInputMismatch"),
        (frozen_norm, "UnchangedTensor"),
        (forgotten_encoder, "UnchangedTensor"),
        (labels_as_feature, "LabelInInput"),
        (keep_probability, "HighDropout"),
        (large_rate, "LearningRate"),
        (wrong_sign, "NegatedLoss"),
        (relu_head, "TargetOutOfRange"),
        (pixels, "InputNotNormalized"),
        (all_zero_kernel, "DeadGradient"),
        (layer_never_called, "UnusedLayer"),
        (exploding_rate, "LearningRate"),
        (stopped_gradient, "DeadGradient"),
        (autoencoder, "TargetOutOfRange"),
        (relu_logits, "LossInputMismatch"),
        (shuffled_labels, "LossNotDecreasing"),
        (tanh_logits, "LossInputMismatch"),
        (blank_inputs, "AllZero"),
        (pixels_divided_twice, "InputNotNormalized"),
        (labels_from_one, "TargetOutOfRange"),
        (untracked_layer, "UnchangedTensor"),
        (softmax_of_one, "SoftmaxAxis"),
        (softmax_over_batch, "SoftmaxAxis"),
        (broadcast_targets, "BroadcastLoss"),
        (softmax_over_queries, "SoftmaxAxis"),
        (positive_mask, "MaskSign"),
        (weights_as_column, "BroadcastLoss"),
        (constant_pixels, "InputNotNormalized"),
        (falling_loss, "NegatedLoss"),
        (softmax_over_rows, "SoftmaxAxis"),
        (warm_up_of_zero, "LearningRate"),
    )
}


def main() -> None:
    logdir = Path(sys.argv[1])
    for run in sys.argv[2:] or [f"{name}-{kind}" for name in PROGRAMS for kind in ("broken", "healthy")]:
        name, _, kind = run.rpartition("-")
        program, _ = PROGRAMS[name]
        keras.utils.set_random_seed(1)
        program(logdir, run, kind == "broken")
        keras.backend.clear_session()


if __name__ == "__main__":
    main()
