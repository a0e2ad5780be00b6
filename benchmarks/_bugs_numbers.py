"""Programs with one mistake in their data, shapes or numerics each, and the same without it.

Lines that hold the mistake end in `# bug`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import keras
import numpy as np
import tensorflow as tf
from _bugs import BATCH, STEPS, Array, bug, feed, fitting, from_logits, layers, mlp, pictures, table

from tensortap import Tap


def train(
    tap: Tap, data: Sequence[Array], variables: list[Any], loss_of: Callable[..., Any], optimizer: Any = None
) -> None:
    """A loop of one's own over the batches of some arrays."""
    optimizer = optimizer or keras.optimizers.Adam(1e-2)

    @tap.function
    def train_step(*batch: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = loss_of(*batch)
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
        return loss

    feed(train_step, *data)


def cross_entropy(labels: Any, logits: Any) -> Any:
    return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits))


def classifier() -> Any:
    return mlp(layers.Dense(32, activation="relu"))


@bug("LossInputMismatch")
def tanh_logits(tap: Tap, broken: bool) -> None:
    x, y = table()
    head = layers.Dense(3, activation="tanh" if broken else None, name="head")  # bug
    model = mlp(layers.Dense(32, activation="relu"), head=head)
    model.compile(keras.optimizers.Adam(1e-2), from_logits())
    model.fit(x, y, **fitting(tap))


@bug("SoftmaxAxis")
def log_softmax_of_batch(tap: Tap, broken: bool) -> None:
    model = classifier()

    def loss_of(x: Any, y: Any) -> Any:
        likely = tf.nn.log_softmax(model(x), axis=0 if broken else -1)  # bug
        return -tf.reduce_mean(tf.reduce_sum(tf.one_hot(y, 3) * likely, 1))

    train(tap, table(), model.trainable_variables, loss_of)


@bug("AllZero")
def blank_pictures(tap: Tap, broken: bool) -> None:
    """A cast to integers after the scaling to 0…1."""
    x, y = pictures()
    x = (x * 0.99).astype(np.uint8).astype(np.float32) if broken else x
    model = keras.Sequential(
        [keras.Input((8, 8, 1)), layers.Conv2D(8, 3, activation="relu"), layers.Flatten(), layers.Dense(2)]
    )
    model.compile(keras.optimizers.Adam(1e-2), from_logits())
    model.fit(x, y, **fitting(tap))  # bug


@bug("InputNotNormalized")
def pixels_divided_twice(tap: Tap, broken: bool) -> None:
    x, y = pictures()
    scale = layers.Rescaling(1 / 255 if broken else 1.0)  # bug
    model = keras.Sequential(
        [
            keras.Input((8, 8, 1)),
            scale,
            layers.Conv2D(8, 3, activation="relu"),
            layers.Flatten(),
            layers.Dense(2),
        ]
    )
    model.compile(keras.optimizers.Adam(1e-3), from_logits())
    model.fit(x, y, **fitting(tap))


@bug("TargetOutOfRange")
def labels_from_one(tap: Tap, broken: bool) -> None:
    """A one-hot encoding counts from 0."""
    x, y = table()
    y = y + 1 if broken else y
    model = classifier()

    def loss_of(x: Any, y: Any) -> Any:
        wanted = tf.one_hot(y, 3)  # bug
        return tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(wanted, model(x)))

    train(tap, (x, y), model.trainable_variables, loss_of)


@bug("LearningRate")
def decay_over_epochs(tap: Tap, broken: bool) -> None:
    """The number of epochs where a schedule takes that of steps: the rate is soon 0."""
    model = classifier()
    schedule = keras.optimizers.schedules.CosineDecay(1e-3, 3 if broken else 1000)
    model.compile(keras.optimizers.Adam(schedule), from_logits())  # bug
    x, y = table()
    model.fit(x, y, **fitting(tap))


@bug("UnchangedTensor")
def untracked_layer(tap: Tap, broken: bool) -> None:
    """A layer in an object that Keras does not search for layers."""

    class Encoder:
        def __init__(self) -> None:
            self.layer = layers.Dense(32, activation="relu", name="first")  # bug

    class Model(keras.Model):
        def __init__(self) -> None:
            super().__init__()
            self.encoder, self.head = Encoder(), layers.Dense(3, name="head")
            if not broken:
                self.first = self.encoder.layer

        def call(self, x: Any) -> Any:
            return self.head(self.encoder.layer(x))  # bug

    data, model = table(), Model()
    model(data[0][:1])
    train(tap, data, model.trainable_variables, lambda x, y: cross_entropy(y, model(x)))


@bug("LossNotDecreasing", "DeadGradient")
def sample_weights_of_zero(tap: Tap, broken: bool) -> None:
    x, y = table()
    model = classifier()
    model.compile(keras.optimizers.Adam(1e-2), from_logits())
    weights = np.full(len(x), 0.0 if broken else 1.0, np.float32)
    model.fit(x, y, sample_weight=weights, **fitting(tap))  # bug


@bug("ShrinkingWeights")
def shrunk_by_hand(tap: Tap, broken: bool) -> None:
    model, optimizer = classifier(), keras.optimizers.Adam(1e-2)
    variables = model.trainable_variables

    @tap.function
    def train_step(x: Any, y: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = cross_entropy(y, model(x))
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
        for variable in variables:
            variable.assign(variable * (0.5 if broken else 0.9999))  # bug
        return loss

    feed(train_step, *table())


@bug("LossNotDecreasing", "NegatedLoss")
def ascent(tap: Tap, broken: bool) -> None:
    """Gradients with the wrong sign."""
    model, optimizer = classifier(), keras.optimizers.Adam(1e-2)
    variables = model.trainable_variables

    @tap.function
    def train_step(x: Any, y: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = cross_entropy(y, model(x))
        gradients = tape.gradient(loss, variables)
        gradients = [-gradient if broken else gradient for gradient in gradients]  # bug
        optimizer.apply_gradients(zip(gradients, variables, strict=True))
        return loss

    feed(train_step, *table())


@bug("DeadGradient", "AbsorbedUpdate")
def underflow_in_half(tap: Tap, broken: bool) -> None:
    """A loss divided by the size of the data, in half precision without a loss scale."""
    dtype = "float16" if broken else "float32"
    model = mlp(
        layers.Dense(32, activation="relu", dtype=dtype),  # bug
        layers.Dense(32, activation="relu", dtype=dtype),  # bug
        head=layers.Dense(3, dtype=dtype, name="head"),  # bug
    )

    def loss_of(x: Any, y: Any) -> Any:
        logits = tf.cast(model(x), tf.float32)
        return 1e-6 * cross_entropy(y, logits)  # bug

    train(tap, table(), model.trainable_variables, loss_of, keras.optimizers.Adam(1e-3))


@bug("DeadGradient")
def hard_attention(tap: Tap, broken: bool) -> None:
    """The element with the best score: argmax has no gradient."""
    x = np.random.default_rng(0).standard_normal((STEPS * BATCH, 6, 16)).astype(np.float32)
    y = (x[:, 2, 0] > 0).astype(np.int32)
    score, head = layers.Dense(1, use_bias=False, name="score"), layers.Dense(2, name="head")
    score.build((None, 6, 16))
    head.build((None, 16))
    variables, optimizer = (
        [*score.trainable_variables, *head.trainable_variables],
        keras.optimizers.Adam(1e-2),
    )

    @tap.function
    def train_step(x: Any, y: Any) -> Any:
        with tf.GradientTape() as tape:
            scores = score(x)[..., 0]
            if broken:
                chosen = tf.gather(x, tf.argmax(scores, 1), batch_dims=1)  # bug
            else:
                chosen = tf.reduce_sum(tf.nn.softmax(scores)[..., None] * x, 1)
            loss = cross_entropy(y, head(chosen))
        # TensorFlow makes no zeros for Keras' own variables.
        values = [variable.value for variable in variables]
        gradients = tape.gradient(loss, values, unconnected_gradients=tf.UnconnectedGradients.ZERO)
        optimizer.apply_gradients(zip(gradients, variables, strict=True))
        return loss

    feed(train_step, x, y)


@bug("ExplodingTensor")
def log_of_softmax(tap: Tap, broken: bool) -> None:
    model = classifier()

    def loss_of(x: Any, y: Any) -> Any:
        logits = 60.0 * model(x)
        likely = tf.math.log(tf.nn.softmax(logits)) if broken else tf.nn.log_softmax(logits)  # bug
        return -tf.reduce_mean(tf.reduce_sum(tf.one_hot(y, 3) * likely, 1))

    train(tap, table(), model.trainable_variables, loss_of, keras.optimizers.Adam(1e-3))


@bug("ExplodingTensor")
def no_positives(tap: Tap, broken: bool) -> None:
    """The mean over the positive samples of a batch, of which one batch has none."""
    x, y = table(classes=2)
    y[7 * BATCH : 8 * BATCH] = 0
    model = mlp(layers.Dense(16, activation="relu"), head=layers.Dense(1))

    def loss_of(x: Any, y: Any) -> Any:
        positive = tf.cast(y, tf.float32)
        count = tf.reduce_sum(positive)
        count = count if broken else tf.maximum(count, 1.0)
        return tf.reduce_sum(positive * tf.square(model(x)[:, 0] - x[:, 0])) / count  # bug

    train(tap, (x, y), model.trainable_variables, loss_of)


@bug("ExplodingTensor")
def distance_of_equals(tap: Tap, broken: bool) -> None:
    """The gradient of a norm at 0: some pairs are equal."""
    x, _ = table()
    other = x.copy()
    other[::3] += 0.1
    model = mlp(layers.Dense(16, activation="relu"), head=layers.Dense(4))

    def loss_of(one: Any, other: Any) -> Any:
        apart = model(one) - model(other)
        if broken:
            return tf.reduce_mean(tf.norm(apart, axis=1))  # bug
        return tf.reduce_mean(tf.sqrt(tf.reduce_sum(tf.square(apart), 1) + 1e-9))

    train(tap, (x, other), model.trainable_variables, loss_of, keras.optimizers.Adam(1e-3))


@bug("ExplodingTensor")
def chosen_logarithm(tap: Tap, broken: bool) -> None:
    """tf.where hides an infinity, but not from the gradient."""
    x, y = table()
    model = mlp(layers.Dense(16, activation="relu"), head=layers.Dense(1))

    def loss_of(x: Any, y: Any) -> Any:
        score = tf.nn.relu(model(x)[:, 0])
        operand = score if broken else tf.where(score > 0, score, 1.0)
        score = tf.where(score > 0, tf.math.log(operand), 0.0)  # bug
        return tf.reduce_mean(tf.square(score - tf.cast(y, tf.float32)))

    train(tap, (x, y), model.trainable_variables, loss_of)


@bug("ExplodingTensor")
def divergence_overflows(tap: Tap, broken: bool) -> None:
    """The variance of a variational autoencoder from an unbounded logarithm."""
    x = pictures()[0].reshape(-1, 64)
    encoder = mlp(layers.Dense(32, activation="relu"), head=layers.Dense(8), features=64)
    decoder = mlp(layers.Dense(32, activation="relu"), head=layers.Dense(64), features=4)

    def loss_of(x: Any) -> Any:
        mean, logarithm = tf.split(encoder(x), 2, 1)
        logarithm *= 3000.0 if broken else 1.0
        variance = tf.exp(logarithm)  # bug
        drawn = mean + tf.sqrt(variance) * tf.random.normal(tf.shape(mean))
        losses = tf.reduce_sum(tf.nn.sigmoid_cross_entropy_with_logits(x, decoder(drawn)), 1)
        return tf.reduce_mean(losses - 0.5 * tf.reduce_sum(1 + logarithm - mean**2 - variance, 1))

    variables = [*encoder.trainable_variables, *decoder.trainable_variables]
    train(tap, (x,), variables, loss_of, keras.optimizers.Adam(1e-3))


@bug("ExplodingTensor")
def deviation_of_one(tap: Tap, broken: bool) -> None:
    """The last batch has one sample: its deviation is 0."""
    model, optimizer = mlp(layers.Dense(16, activation="relu")), keras.optimizers.Adam(1e-2)
    variables = model.trainable_variables

    @tap.function
    def train_step(x: Any, y: Any) -> Any:
        with tf.GradientTape() as tape:
            scores = model(x)
            deviation = tf.math.reduce_std(scores, 0) + (0.0 if broken else 1e-3)
            loss = cross_entropy(y, (scores - tf.reduce_mean(scores, 0)) / deviation)  # bug
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
        return loss

    x, y = table()
    data = tf.data.Dataset.from_tensor_slices((x, y)).take(len(x) - BATCH + 1)
    for features, labels in data.batch(BATCH):
        train_step(features, labels)


@bug("DeadGradient")
def through_numpy(tap: Tap, broken: bool) -> None:
    x, y = table()

    class Clip(layers.Layer):
        def call(self, x: Any) -> Any:
            if broken:
                clipped = tf.numpy_function(lambda x: np.clip(x, 0, 6), [x], tf.float32)  # bug
                return tf.ensure_shape(clipped, x.shape)
            return tf.clip_by_value(x, 0, 6)

    model = mlp(layers.Dense(32, name="low"), Clip())
    model.compile(keras.optimizers.Adam(1e-2), from_logits())
    model.fit(x, y, **fitting(tap))
