"""Programs with one wrong setting each, of a regularizer, optimizer, layer or loss, and the same without it.

Lines that hold the mistake end in `# bug`.
"""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
import tensorflow as tf
from _bugs import BATCH, STEPS, bug, feed, fitting, from_logits, layers, mlp, pictures, table

from tensortap import Tap


@bug("ShrinkingWeights")
def heavy_regularizer(tap: Tap, broken: bool) -> None:
    x, y = table()
    penalty = keras.regularizers.L2(50.0 if broken else 1e-4)
    model = mlp(
        layers.Dense(32, activation="relu"),
        layers.Dense(32, activation="relu", kernel_regularizer=penalty),  # bug
    )
    model.compile(keras.optimizers.Adam(1e-2), from_logits())
    model.fit(x, y, **fitting(tap))


@bug("ShrinkingWeights")
def heavy_weight_decay(tap: Tap, broken: bool) -> None:
    """The decay is multiplied by the rate."""
    x, y = table()
    model = mlp(layers.Dense(32, activation="relu"), layers.Dense(32, activation="relu"))
    model.compile(keras.optimizers.AdamW(1e-2, weight_decay=90.0 if broken else 4e-3), from_logits())  # bug
    model.fit(x, y, **fitting(tap))


@bug("AbsorbedUpdate")
def tiny_clipnorm(tap: Tap, broken: bool) -> None:
    x, y = table()
    model = mlp(layers.Dense(32, activation="relu"))
    model.compile(keras.optimizers.SGD(0.05, clipnorm=1e-8 if broken else 1.0), from_logits())  # bug
    model.fit(x, y, **fitting(tap))


@bug("LearningRate")
def schedule_by_steps(tap: Tap, broken: bool) -> None:
    """A decay meant for epochs."""
    x, y = table()
    model = mlp(layers.Dense(32, activation="relu"))
    steps, rate = (1, 0.1) if broken else (1000, 0.9)
    schedule = keras.optimizers.schedules.ExponentialDecay(1e-3, steps, rate)
    model.compile(keras.optimizers.Adam(schedule), from_logits())  # bug
    model.fit(x, y, **fitting(tap))


@bug("UnchangedTensor")
def momentum_of_one(tap: Tap, broken: bool) -> None:
    x, y = pictures()
    norm = layers.BatchNormalization(momentum=1.0 if broken else 0.9, name="norm")  # bug
    model = keras.Sequential(
        [keras.Input((8, 8, 1)), layers.Conv2D(8, 3), norm, layers.ReLU(), layers.Flatten(), layers.Dense(2)]
    )
    model.compile(keras.optimizers.Adam(1e-3), from_logits())
    model.fit(x, y, **fitting(tap))


@bug("TargetOutOfRange")
def class_numbers_by_squares(tap: Tap, broken: bool) -> None:
    """The mean squared error of class numbers and a softmax."""
    x, y = table()
    head = layers.Dense(3, activation="softmax", name="head")  # bug
    model = mlp(layers.Dense(32, activation="relu"), head=head)
    model.compile("adam", "mse" if broken else "sparse_categorical_crossentropy")  # bug
    model.fit(x, y[:, None], **fitting(tap))  # bug


@bug("ExplodingTensor")
def variance_of_relu(tap: Tap, broken: bool) -> None:
    """A variational autoencoder whose variance may be exactly 0."""
    x = pictures()[0].reshape(-1, 64)
    encoder = keras.Sequential([keras.Input((64,)), layers.Dense(32, "relu"), layers.Dense(8)])
    decoder = keras.Sequential([keras.Input((4,)), layers.Dense(32, "relu"), layers.Dense(64)])
    optimizer = keras.optimizers.Adam(1e-3)

    @tap.function
    def train_step(x: Any) -> Any:
        with tf.GradientTape() as tape:
            mean, raw = tf.split(encoder(x), 2, 1)
            variance = tf.nn.relu(raw) if broken else tf.nn.softplus(raw) + 1e-4
            logarithm = tf.math.log(variance)  # bug
            drawn = mean + tf.sqrt(variance) * tf.random.normal(tf.shape(mean))
            losses = tf.nn.sigmoid_cross_entropy_with_logits(x, decoder(drawn))
            divergence = -0.5 * tf.reduce_sum(1 + logarithm - mean**2 - variance, 1)
            loss = tf.reduce_mean(tf.reduce_sum(losses, 1) + divergence)
        variables = [*encoder.trainable_variables, *decoder.trainable_variables]
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
        return loss

    for number in range(STEPS):
        train_step(tf.constant(x[number * BATCH : (number + 1) * BATCH]))


@bug("ExplodingTensor")
def mean_of_no_tokens(tap: Tap, broken: bool) -> None:
    random = np.random.default_rng(0)
    x = random.integers(1, 20, (STEPS * BATCH, 6)).astype(np.int32)
    y = (x[:, 0] > 10).astype(np.int32)
    x[::9] = 0

    class Mean(layers.Layer):
        def call(self, tokens: Any, values: Any) -> Any:
            mask = tf.cast(tokens > 0, tf.float32)[:, :, None]
            count = tf.reduce_sum(mask, 1)
            return tf.reduce_sum(values * mask, 1) / (count if broken else tf.maximum(count, 1.0))  # bug

    inputs = keras.Input((6,), dtype="int32")
    values = layers.Embedding(20, 8, name="embedding")(inputs)
    model = keras.Model(inputs, layers.Dense(2, name="head")(Mean()(inputs, values)))
    model.compile("adam", from_logits())
    model.fit(x, y, **fitting(tap))


@bug("DeadGradient")
def loss_weight_of_zero(tap: Tap, broken: bool) -> None:
    x, y = table()
    inputs = keras.Input((8,))
    hidden = layers.Dense(32, "relu")(inputs)
    second = layers.Dense(1, name="b")(hidden)  # bug
    model = keras.Model(inputs, {"a": layers.Dense(3, name="a")(hidden), "b": second})
    weights = {"a": 1.0, "b": 0.0 if broken else 0.5}
    model.compile("adam", {"a": from_logits(), "b": "mse"}, loss_weights=weights)  # bug
    model.fit(x, {"a": y, "b": x[:, :1] * x[:, 1:2]}, **fitting(tap))


@bug("UnchangedTensor")
def critic_stays_frozen(tap: Tap, broken: bool) -> None:
    """A GAN whose critic was frozen to build the step of the generator, and is never trained."""
    x, _ = table()
    generator = keras.Sequential([keras.Input((4,)), layers.Dense(16, "relu"), layers.Dense(8)])
    critic = keras.Sequential(
        [keras.Input((8,)), layers.Dense(64, "relu", name="first"), layers.Dense(1)],  # bug
        name="critic",
    )
    critic.trainable = not broken  # bug
    first, second = keras.optimizers.Adam(1e-3), keras.optimizers.Adam(1e-3)
    loss_of = keras.losses.BinaryCrossentropy(from_logits=True)

    @tap.function
    def train_step(real: Any, noise: Any) -> Any:
        with tf.GradientTape(persistent=True) as tape:
            made = generator(noise)
            of_real, of_made = critic(real), critic(made)  # bug
            critic_loss = loss_of(tf.ones_like(of_real), of_real) + loss_of(tf.zeros_like(of_made), of_made)
            generator_loss = loss_of(tf.ones_like(of_made), of_made)
        for loss, model, optimizer in ((critic_loss, critic, first), (generator_loss, generator, second)):
            variables = model.trainable_variables
            if variables:
                optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
        return critic_loss

    feed(train_step, x, np.random.default_rng(1).standard_normal((len(x), 4)).astype(np.float32))
