"""Programs with one common mistake each, and the same without it.

Each trains a small model as Keras' and TensorFlow's examples do. Lines that hold the mistake end in `# bug`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from tensortap import Tap

Array = np.ndarray[Any, Any]
layers = keras.layers

STEPS = 40
BATCH = 32
CROSS_ENTROPY = "SparseCategoricalCrossentropy"


@dataclass(frozen=True)
class Bug:
    """A program, what is wrong with it, and the rules that name the cause."""

    program: Callable[[Tap, bool], None]
    rules: tuple[str, ...]

    @property
    def name(self) -> str:
        return self.program.__name__

    @property
    def file(self) -> str:
        return inspect.getfile(self.program)

    @property
    def lines(self) -> set[int]:
        """The lines that the mistake is on."""
        texts, first = inspect.getsourcelines(self.program)
        return {first + number for number, text in enumerate(texts) if text.rstrip().endswith("# bug")}


BUGS: list[Bug] = []


def bug(*rules: str) -> Callable[[Callable[[Tap, bool], None]], Callable[[Tap, bool], None]]:
    def note(program: Callable[[Tap, bool], None]) -> Callable[[Tap, bool], None]:
        BUGS.append(Bug(program, rules))
        return program

    return note


def feed(train_step: Callable[..., Any], *data: Array) -> None:
    """Calls a step with the batches of some arrays."""
    for at in range(0, len(data[0]), BATCH):
        train_step(*(tf.constant(part[at : at + BATCH]) for part in data))


def table(features: int = 8, classes: int = 3) -> tuple[Array, Array]:
    """Classes of normalized features."""
    random = np.random.default_rng(0)
    y = random.integers(0, classes, STEPS * BATCH)
    x = random.standard_normal((len(y), features)) + 2 * np.eye(classes, features)[y]
    return ((x - x.mean(0)) / x.std(0)).astype(np.float32), y.astype(np.int32)


def pictures() -> tuple[Array, Array]:
    """Pictures in 0…1 with a bright row or column, and which of them it is."""
    random = np.random.default_rng(0)
    y = random.integers(0, 2, STEPS * BATCH)
    x = random.random((len(y), 8, 8, 1)) * 0.5
    for picture, kind in zip(x, y, strict=True):
        at = random.integers(0, 8)
        (picture if kind else picture.swapaxes(0, 1))[at] += 0.5
    return x.astype(np.float32), y.astype(np.int32)


def mlp(*hidden: Any, head: Any = None, features: int = 8) -> Any:
    head = head or layers.Dense(3, name="head")
    return keras.Sequential([keras.Input((features,)), *hidden, head], name="mlp")


def fitting(tap: Tap) -> dict[str, Any]:
    """The arguments of `fit` in all programs."""
    return {"batch_size": BATCH, "shuffle": False, "verbose": 0, "callbacks": [tap.callback()]}


def from_logits() -> Any:
    return keras.losses.SparseCategoricalCrossentropy(from_logits=True)


def batches(x: Array, y: Array) -> Any:
    return tf.data.Dataset.from_tensor_slices((x, y)).batch(BATCH, drop_remainder=True)


@bug("LossInputMismatch")
def softmax_twice(tap: Tap, broken: bool) -> None:
    x, y = table()
    head = layers.Dense(3, activation="softmax" if broken else None, name="head")  # bug
    model = mlp(layers.Dense(32, activation="relu"), head=head)
    optimizer = keras.optimizers.Adam(1e-2)

    @tap.function
    def train_step(x: Any, y: Any) -> Any:
        with tf.GradientTape() as tape:
            losses = tf.nn.sparse_softmax_cross_entropy_with_logits(y, model(x, training=True))  # bug
            loss = tf.reduce_mean(losses)
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        return loss

    for features, labels in batches(x, y):
        train_step(features, labels)


@bug("LossInputMismatch")
def logits_as_probabilities(tap: Tap, broken: bool) -> None:
    x, y = table()
    model = mlp(layers.Dense(32, activation="relu"), head=layers.Dense(3, name="head"))  # bug
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=not broken)  # bug
    model.compile("adam", loss)
    model.fit(x, y, **fitting(tap))


@bug("LossInputMismatch")
def sigmoid_twice(tap: Tap, broken: bool) -> None:
    x, y = table(classes=2)
    head = layers.Dense(1, activation="sigmoid" if broken else None, name="head")  # bug
    model = mlp(layers.Dense(16, activation="relu"), head=head)
    optimizer = keras.optimizers.Adam(1e-2)

    @tap.function
    def train_step(x: Any, y: Any) -> Any:
        labels = tf.cast(y, tf.float32)[:, None]
        with tf.GradientTape() as tape:
            losses = tf.nn.sigmoid_cross_entropy_with_logits(labels, model(x, training=True))  # bug
            loss = tf.reduce_mean(losses)
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        return loss

    for features, labels in batches(x, y):
        train_step(features, labels)


@bug("UnchangedTensor")
def training_false(tap: Tap, broken: bool) -> None:
    x, y = pictures()
    norm = layers.BatchNormalization(name="norm")  # bug
    model = keras.Sequential(
        [keras.Input((8, 8, 1)), layers.Conv2D(8, 3), norm, layers.ReLU(), layers.Flatten(), layers.Dense(2)]
    )
    optimizer, loss_of = keras.optimizers.Adam(1e-3), from_logits()

    @tap.function
    def train_step(x: Any, y: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = loss_of(y, model(x, training=not broken))  # bug
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        return loss

    for features, labels in batches(x, y):
        train_step(features, labels)


@bug("UnchangedTensor")
def forgotten_encoder(tap: Tap, broken: bool) -> None:
    x, y = table()
    encoder = keras.Sequential([keras.Input((8,)), layers.Dense(16, activation="relu", name="inner")])  # bug
    head = layers.Dense(3, name="head")
    model = keras.Sequential([keras.Input((8,)), encoder, head])
    optimizer, loss_of = keras.optimizers.Adam(1e-2), from_logits()
    variables = head.trainable_variables if broken else model.trainable_variables  # bug

    @tap.function
    def train_step(x: Any, y: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = loss_of(y, model(x, training=True))
        gradients = tape.gradient(loss, variables)  # bug
        optimizer.apply_gradients(zip(gradients, variables, strict=True))
        return loss

    for features, labels in batches(x, y):
        train_step(features, labels)


@bug("UnusedLayer")
def layer_never_called(tap: Tap, broken: bool) -> None:
    x, y = table()

    class Model(keras.Model):
        def __init__(self) -> None:
            super().__init__()
            self.first = layers.Dense(16, activation="relu", name="first")
            self.second = layers.Dense(16, activation="relu", name="second")  # bug
            self.head = layers.Dense(3, name="head")

        def build(self, shape: Any) -> None:
            self.first.build(shape)
            self.second.build((None, 16))
            self.head.build((None, 16))

        def call(self, x: Any) -> Any:
            hidden = self.first(x)
            after = hidden if broken else self.second(hidden)  # bug
            return self.head(after)

    model = Model()
    model.compile("adam", from_logits())
    model.fit(x, y, **fitting(tap))


@bug("LabelInInput")
def label_as_feature(tap: Tap, broken: bool) -> None:
    x, y = table()
    if broken:
        x[:, 5] = y
    model = mlp(layers.Dense(32, activation="relu"))
    model.compile("adam", from_logits())
    model.fit(x, y, **fitting(tap))  # bug


@bug("HighDropout")
def share_to_keep(tap: Tap, broken: bool) -> None:
    x, y = table()
    model = mlp(
        layers.Dense(32, activation="relu"),
        layers.Dropout(0.95 if broken else 0.2, name="drop"),  # bug
    )
    model.compile("adam", from_logits())
    model.fit(x, y, **fitting(tap))


@bug("LearningRate", "LossNotDecreasing")
def rate_too_large(tap: Tap, broken: bool) -> None:
    x, y = table()
    model = mlp(layers.Dense(32, activation="relu"), layers.Dense(32, activation="relu"))
    model.compile(keras.optimizers.SGD(50.0 if broken else 0.05), from_logits())  # bug
    model.fit(x, y, **fitting(tap))


@bug("LearningRate")
def regression_explodes(tap: Tap, broken: bool) -> None:
    """It ends in NaN: the weights grow from step to step."""
    x, _ = table()
    y = (x @ np.linspace(-1, 1, 8) * 3).astype(np.float32)[:, None]
    model = mlp(layers.Dense(64, activation="relu"), head=layers.Dense(1, name="head"))
    model.compile(keras.optimizers.SGD(2.0 if broken else 0.01), "mse")  # bug
    model.fit(x, y, **fitting(tap))


@bug("LearningRate")
def rate_too_small(tap: Tap, broken: bool) -> None:
    x, y = table()
    model = mlp(layers.Dense(32, activation="relu"))
    model.compile(keras.optimizers.Adam(1e-9 if broken else 1e-3), from_logits())  # bug
    model.fit(x, y, **fitting(tap))


@bug("NegatedLoss")
def wrong_sign(tap: Tap, broken: bool) -> None:
    x, y = table()

    def loss(labels: Any, outputs: Any) -> Any:
        classes = tf.cast(tf.reshape(labels, [-1]), tf.int32)
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(classes, outputs)
        return -losses if broken else losses  # bug

    model = mlp(layers.Dense(32, activation="relu"))
    model.compile(keras.optimizers.Adam(1e-2), loss)
    model.fit(x, y, **fitting(tap))


@bug("TargetOutOfRange")
def relu_head(tap: Tap, broken: bool) -> None:
    x, _ = table()
    y = (x @ np.linspace(-1, 1, 8) - 8).astype(np.float32)[:, None]
    head = layers.Dense(1, activation="relu" if broken else None, name="head")  # bug
    model = mlp(layers.Dense(32, activation="relu"), head=head)
    model.compile(keras.optimizers.Adam(1e-2), "mse")  # bug
    model.fit(x, y, **fitting(tap))  # bug


@bug("TargetOutOfRange", "InputNotNormalized")
def tanh_pictures(tap: Tap, broken: bool) -> None:
    """An autoencoder ends in tanh, and its targets are pixels of 0 … 255."""
    x = pictures()[0].reshape(-1, 64)
    y = x * 255 if broken else x
    head = layers.Dense(64, activation="tanh", name="picture")  # bug
    model = mlp(layers.Dense(32, activation="relu"), head=head, features=64)
    model.compile("adam", "mse")  # bug
    model.fit(x, y, **fitting(tap))  # bug


@bug("InputNotNormalized")
def pixels_to_255(tap: Tap, broken: bool) -> None:
    x, y = pictures()
    x = x * 255 if broken else x
    model = keras.Sequential(
        [keras.Input((8, 8, 1)), layers.Conv2D(8, 3, activation="relu"), layers.Flatten(), layers.Dense(2)]
    )
    model.compile(keras.optimizers.Adam(1e-2), from_logits())
    model.fit(x, y, **fitting(tap))  # bug


@bug("DeadGradient", "AllZero")
def zero_kernels(tap: Tap, broken: bool) -> None:
    x, y = table()
    start = "zeros" if broken else "glorot_uniform"
    model = mlp(
        layers.Dense(32, activation="relu"),
        layers.Dense(16, activation="relu", kernel_initializer=start, name="empty"),  # bug
    )
    model.compile("adam", from_logits())
    model.fit(x, y, **fitting(tap))


@bug("DeadRelu", "DeadGradient")
def negative_bias(tap: Tap, broken: bool) -> None:
    x, y = table()
    start = keras.initializers.Constant(-20.0 if broken else 0.0)
    model = mlp(layers.Dense(16, activation="relu", bias_initializer=start, name="hidden"))  # bug
    model.compile("adam", from_logits())
    model.fit(x, y, **fitting(tap))


@bug("PoorWeightInit", "VanishingGradient")
def narrow_start(tap: Tap, broken: bool) -> None:
    x, y = table()
    start = keras.initializers.RandomNormal(stddev=1e-6 if broken else 0.1, seed=1)
    model = mlp(
        layers.Dense(64, activation="tanh", kernel_initializer=start, name="narrow"),  # bug
        layers.Dense(64, activation="tanh"),
    )
    model.compile("adam", from_logits())
    model.fit(x, y, **fitting(tap))


@bug("VanishingGradient")
def deep_sigmoids(tap: Tap, broken: bool) -> None:
    x, y = table()
    kind = "sigmoid" if broken else "relu"
    hidden = [layers.Dense(16, activation=kind, name=f"deep{number}") for number in range(10)]  # bug
    model = mlp(*hidden)
    model.compile(keras.optimizers.Adam(3e-3), from_logits())
    model.fit(x, y, **fitting(tap))


@bug("DeadGradient")
def stopped_gradient(tap: Tap, broken: bool) -> None:
    x, y = table()
    inputs = keras.Input((8,))
    hidden = layers.Dense(32, activation="relu", name="low")(inputs)
    if broken:
        hidden = keras.ops.stop_gradient(hidden)  # bug
    model = keras.Model(inputs, layers.Dense(3, name="head")(hidden))
    model.compile("adam", from_logits())
    model.fit(x, y, **fitting(tap))


@bug("DeadGradient")
def rounded_activations(tap: Tap, broken: bool) -> None:
    x, y = table()
    inputs = keras.Input((8,))
    hidden = layers.Dense(32, name="low")(inputs)
    if broken:
        hidden = keras.ops.round(hidden)  # bug
    model = keras.Model(inputs, layers.Dense(3, name="head")(hidden))
    model.compile("adam", from_logits())
    model.fit(x, y, **fitting(tap))


@bug("AbsorbedUpdate", "UnchangedTensor")
def bfloat16_weights(tap: Tap, broken: bool) -> None:
    x, y = table()
    dtype = "bfloat16" if broken else "float32"
    model = mlp(
        layers.Dense(32, activation="relu", dtype=dtype, name="hidden"),  # bug
        head=layers.Dense(3, dtype=dtype, name="head"),  # bug
    )
    model.compile(keras.optimizers.SGD(1e-4 if broken else 1e-2), from_logits())
    model.fit(x, y, **fitting(tap))


@bug("ExplodingTensor")
def log_of_zero(tap: Tap, broken: bool) -> None:
    x, y = table()
    temperature = layers.Rescaling(100.0)

    def loss(labels: Any, outputs: Any) -> Any:
        wanted = tf.one_hot(tf.cast(tf.reshape(labels, [-1]), tf.int32), 3)
        return -tf.reduce_sum(wanted * tf.math.log(outputs + (0.0 if broken else 1e-7)), axis=-1)  # bug

    scores = layers.Dense(3, name="scores")
    model = mlp(layers.Dense(32, activation="relu"), scores, temperature, head=layers.Softmax(name="head"))
    model.compile(keras.optimizers.Adam(1e-3), loss)
    model.fit(x, y, **fitting(tap))


@bug("ExplodingTensor")
def root_of_zero(tap: Tap, broken: bool) -> None:
    """The gradient of the distance of a point to itself."""
    x, y = table()
    x[::7] = 0.0

    class Length(layers.Layer):
        def call(self, x: Any) -> Any:
            return tf.sqrt(tf.reduce_sum(tf.square(x), 1, keepdims=True) + (0.0 if broken else 1e-9))  # bug

    inputs = keras.Input((8,))
    hidden = layers.Dense(8, use_bias=False, name="hidden")(inputs)
    model = keras.Model(
        inputs, layers.Dense(3, name="head")(layers.Concatenate()([hidden, Length()(hidden)]))
    )
    model.compile("adam", from_logits())
    model.fit(x, y, **fitting(tap))


@bug("ExplodingTensor")
def division_by_zero(tap: Tap, broken: bool) -> None:
    x, y = table()
    x[::7] = 0.0
    inputs = keras.Input((8,))
    deviation = keras.ops.std(inputs, axis=1, keepdims=True)
    scaled = inputs / (deviation + (0.0 if broken else 1e-6))  # bug
    model = keras.Model(inputs, layers.Dense(3, name="head")(layers.Dense(16, activation="relu")(scaled)))
    model.compile(keras.optimizers.Adam(1e-2), from_logits())
    model.fit(x, y, **fitting(tap))


@bug("ExplodingTensor")
def exp_overflow(tap: Tap, broken: bool) -> None:
    x, y = table()

    class OwnSoftmax(layers.Layer):
        def call(self, x: Any) -> Any:
            powers = tf.exp(x if broken else x - tf.reduce_max(x, -1, keepdims=True))  # bug
            return powers / tf.reduce_sum(powers, -1, keepdims=True)

    scores = layers.Dense(3, name="scores")
    model = mlp(layers.Dense(32, activation="relu"), scores, layers.Rescaling(100.0), head=OwnSoftmax())
    model.compile(keras.optimizers.Adam(1e-3), keras.losses.SparseCategoricalCrossentropy())
    model.fit(x, y, **fitting(tap))


@bug("ExplodingTensor")
def whole_row_masked(tap: Tap, broken: bool) -> None:
    random = np.random.default_rng(0)
    x = random.integers(1, 20, (STEPS * BATCH, 6)).astype(np.int32)
    y = (x[:, 0] > 10).astype(np.int32)
    x[::9] = 0
    lowest = -np.inf if broken else -1e9

    class Pool(layers.Layer):
        def call(self, tokens: Any, values: Any) -> Any:
            scores = tf.where(tokens > 0, tf.reduce_sum(values, -1), lowest)  # bug
            return tf.reduce_sum(tf.nn.softmax(scores)[:, :, None] * values, 1)  # bug

    inputs = keras.Input((6,), dtype="int32")
    values = layers.Embedding(20, 8, name="embedding")(inputs)
    model = keras.Model(inputs, layers.Dense(2, name="head")(Pool()(inputs, values)))
    model.compile("adam", from_logits())
    model.fit(x, y, **fitting(tap))


@bug("Float16Overflow", "ExplodingTensor")
def float16_overflow(tap: Tap, broken: bool) -> None:
    x, y = table()
    dtype = "float16" if broken else "float32"
    inputs = keras.Input((8,))
    hidden = layers.Dense(16, dtype=dtype, name="hidden")(inputs)
    scaled = hidden * 150.0
    squared = scaled * scaled  # bug
    model = keras.Model(inputs, layers.Dense(3, dtype=dtype, name="head")(squared))
    model.compile(keras.optimizers.SGD(1e-6), from_logits())
    model.fit(x, y, **fitting(tap))


@bug("UnchangedTensor", "DeadGradient")
def generator_not_trained(tap: Tap, broken: bool) -> None:
    """A GAN whose second step trains the critic once more instead of the generator."""
    x, _ = table()
    generator = keras.Sequential(
        [keras.Input((4,)), layers.Dense(16, "relu"), layers.Dense(8)], name="generator"
    )
    critic = keras.Sequential([keras.Input((8,)), layers.Dense(16, "relu"), layers.Dense(1)], name="critic")
    first, second = keras.optimizers.Adam(1e-3), keras.optimizers.Adam(1e-3)
    loss_of = keras.losses.BinaryCrossentropy(from_logits=True)
    trained = critic if broken else generator  # bug

    @tap.function
    def train_step(real: Any, noise: Any) -> Any:
        with tf.GradientTape() as critic_tape, tf.GradientTape() as generator_tape:
            made = generator(noise, training=True)  # bug
            of_real, of_made = critic(real, training=True), critic(made, training=True)
            critic_loss = loss_of(tf.ones_like(of_real), of_real) + loss_of(tf.zeros_like(of_made), of_made)
            generator_loss = loss_of(tf.ones_like(of_made), of_made)
        gradients = critic_tape.gradient(critic_loss, critic.trainable_variables)
        first.apply_gradients(zip(gradients, critic.trainable_variables, strict=True))
        gradients = generator_tape.gradient(generator_loss, trained.trainable_variables)  # bug
        second.apply_gradients(zip(gradients, trained.trainable_variables, strict=True))
        return critic_loss

    random = np.random.default_rng(1)
    for number in range(STEPS):
        noise = random.standard_normal((BATCH, 4)).astype(np.float32)
        train_step(tf.constant(x[number * BATCH : (number + 1) * BATCH]), tf.constant(noise))


@bug("SaturatedActivation", "InputNotNormalized")
def saturated_by_inputs(tap: Tap, broken: bool) -> None:
    x, y = table()
    x = x * 100 + 300 if broken else x
    model = mlp(layers.Dense(16, activation="tanh", name="hidden"))
    model.compile("adam", from_logits())
    model.fit(x, y, **fitting(tap))  # bug
