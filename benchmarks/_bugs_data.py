"""Programs with one mistake each in the data, the loss, its weights or gradients, and the same without it.

Lines that hold the mistake end in `# bug`. Some of these mistakes no rule can tell from what another program
means: the sign of a reward, or who is right in a GAN.
"""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
import tensorflow as tf
from _bugs import BATCH, STEPS, bug, feed, fitting, from_logits, layers, mlp, pictures, table
from _bugs_numbers import classifier, cross_entropy, train
from _bugs_reinforcement import apply, log_probability, network, walk

from tensortap import Tap


@bug("BroadcastLoss")
def weights_as_a_column(tap: Tap, broken: bool) -> None:
    """Weights of shape [32, 1] times losses of shape [32]."""
    x, y = table()
    weights = np.random.default_rng(0).random((len(x), 1)).astype(np.float32) + 0.5
    model = classifier()

    def loss_of(x: Any, y: Any, weights: Any) -> Any:
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(y, model(x))
        return tf.reduce_mean(losses * (weights if broken else weights[:, 0]))  # bug

    train(tap, (x, y, weights), model.trainable_variables, loss_of)


@bug("BroadcastLoss")
def rewards_as_a_column(tap: Tap, broken: bool) -> None:
    states, actions, rewards, following = walk()
    online, target, optimizer = network(), network(), keras.optimizers.Adam(1e-2)

    @tap.function
    def train_step(states: Any, actions: Any, rewards: Any, following: Any) -> Any:
        best = tf.reduce_max(target(following), 1)
        goals = rewards + 0.9 * (best if broken else best[:, None])  # bug
        with tf.GradientTape() as tape:
            chosen = tf.reduce_sum(online(states) * tf.one_hot(actions, 2), 1, keepdims=True)
            loss = tf.reduce_mean(tf.square(goals - chosen))
        apply(optimizer, tape, loss, online.trainable_variables)
        return loss

    feed(train_step, states, actions, rewards[:, None], following)


@bug("InputNotNormalized")
def clipped_pixels(tap: Tap, broken: bool) -> None:
    """A wrong scale, and then a clip: all pixels are 1."""
    x, y = pictures()
    x = np.clip(x * 255 + 1, 0, 1) if broken else x
    model = keras.Sequential(
        [keras.Input((8, 8, 1)), layers.Conv2D(8, 3, activation="relu"), layers.Flatten(), layers.Dense(2)]
    )
    model.compile(keras.optimizers.Adam(1e-2), from_logits())
    model.fit(x, y, **fitting(tap))  # bug


@bug("InputNotNormalized")
def unknown_tokens(tap: Tap, broken: bool) -> None:
    """A vocabulary that knows no word."""
    random = np.random.default_rng(0)
    x = random.integers(1, 20, (STEPS * BATCH, 6)).astype(np.int32)
    y = (x[:, 0] > 10).astype(np.int32)
    x = np.ones_like(x) if broken else x
    embedding, pooling = layers.Embedding(20, 16), layers.GlobalAveragePooling1D()
    model = keras.Sequential([keras.Input((6,), dtype="int32"), embedding, pooling, layers.Dense(2)])
    model.compile(keras.optimizers.Adam(1e-2), from_logits())
    model.fit(x, y, **fitting(tap))  # bug


def segments() -> tuple[Any, Any]:
    """Pictures, and which of their pixels are bright."""
    x = pictures()[0]
    return x, (x[..., 0] > 0.5).astype(np.int32)


def pixelwise(*last: Any) -> Any:
    hidden = layers.Conv2D(16, 3, padding="same", activation="relu")
    return keras.Sequential([keras.Input((8, 8, 1)), hidden, layers.Conv2D(2, 1), *last])


@bug("SoftmaxAxis")
def softmax_of_rows(tap: Tap, broken: bool) -> None:
    """A softmax over the rows of pictures instead of the classes of pixels."""
    model = pixelwise()

    def loss_of(x: Any, y: Any) -> Any:
        likely = tf.nn.softmax(model(x), axis=1 if broken else -1)  # bug
        return tf.reduce_mean(keras.losses.sparse_categorical_crossentropy(y, likely))

    train(tap, segments(), model.trainable_variables, loss_of)


@bug("SoftmaxAxis")
def softmax_layer_of_rows(tap: Tap, broken: bool) -> None:
    """Keras' loss takes the logits: only predictions are wrong."""
    model = pixelwise(layers.Softmax(axis=1 if broken else -1))  # bug
    model.compile(keras.optimizers.Adam(1e-2), "sparse_categorical_crossentropy")
    model.fit(*segments(), **fitting(tap))


@bug("NegatedLoss")
def divergence_with_wrong_sign(tap: Tap, broken: bool) -> None:
    x = pictures()[0].reshape(-1, 64)
    encoder = mlp(layers.Dense(32, activation="relu"), head=layers.Dense(8), features=64)
    decoder = mlp(layers.Dense(32, activation="relu"), head=layers.Dense(64), features=4)

    def loss_of(x: Any) -> Any:
        mean, logarithm = tf.split(encoder(x), 2, 1)
        drawn = mean + tf.exp(0.5 * logarithm) * tf.random.normal(tf.shape(mean))
        losses = tf.reduce_sum(tf.nn.sigmoid_cross_entropy_with_logits(x, decoder(drawn)), 1)
        divergence = -0.5 * tf.reduce_sum(1 + logarithm - mean**2 - tf.exp(logarithm), 1)
        return tf.reduce_mean(losses - divergence if broken else losses + divergence)  # bug

    variables = [*encoder.trainable_variables, *decoder.trainable_variables]
    train(tap, (x,), variables, loss_of, keras.optimizers.Adam(1e-2 if broken else 1e-3))


@bug("LearningRate")
def warm_up_of_whole_numbers(tap: Tap, broken: bool) -> None:
    class WarmUp(keras.optimizers.schedules.LearningRateSchedule):
        def __call__(self, step: Any) -> Any:
            step = tf.cast(step, tf.int32) + 1
            share = step // 1000 if broken else step / 10
            return 1e-3 * tf.minimum(tf.cast(share, tf.float32), 1.0)  # bug

    model = classifier()
    model.compile(keras.optimizers.Adam(WarmUp()), from_logits())
    model.fit(*table(), **fitting(tap))


@bug("LearningRate")
def scale_not_removed(tap: Tap, broken: bool) -> None:
    """A loss scale by which the gradients are not divided."""
    model, optimizer = classifier(), keras.optimizers.SGD(0.05)
    variables = model.trainable_variables

    @tap.function
    def train_step(x: Any, y: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = cross_entropy(y, model(x))
            scaled = loss * 1024.0  # bug
        gradients = tape.gradient(scaled, variables)
        if not broken:
            gradients = [gradient / 1024.0 for gradient in gradients]
        optimizer.apply_gradients(zip(gradients, variables, strict=True))  # bug
        return loss

    feed(train_step, *table())


@bug("LabelInInput")
def tokens_not_shifted(tap: Tap, broken: bool) -> None:
    """A language model that learns to copy."""
    x = np.random.default_rng(0).integers(1, 20, (STEPS * BATCH, 7)).astype(np.int32)
    hidden = layers.GRU(16, return_sequences=True)
    parts = [keras.Input((6,), dtype="int32"), layers.Embedding(20, 16), hidden, layers.Dense(20)]
    model = keras.Sequential(parts)
    model.compile(keras.optimizers.Adam(1e-2), from_logits())
    model.fit(x[:, :-1], x[:, :-1] if broken else x[:, 1:], **fitting(tap))  # bug


@bug("ExplodingGradient")
def clipped_below_zero(tap: Tap, broken: bool) -> None:
    """Only gradients above 0 are left."""
    model, optimizer = classifier(), keras.optimizers.SGD(0.01)
    variables = model.trainable_variables

    @tap.function
    def train_step(x: Any, y: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = cross_entropy(y, model(x))
        gradients = tape.gradient(loss, variables)
        gradients = [tf.clip_by_value(each, 0.0 if broken else -1.0, 1.0) for each in gradients]  # bug
        optimizer.apply_gradients(zip(gradients, variables, strict=True))
        return loss

    feed(train_step, *table())


@bug("NegatedLoss")
def policy_with_wrong_sign(tap: Tap, broken: bool) -> None:
    states, actions, rewards, _ = walk()
    policy, optimizer = network(), keras.optimizers.Adam(1e-2)

    @tap.function
    def train_step(states: Any, actions: Any, advantages: Any) -> Any:
        with tf.GradientTape() as tape:
            likely = tf.reduce_mean(log_probability(policy(states), actions) * advantages)
            loss = likely if broken else -likely  # bug
        apply(optimizer, tape, loss, policy.trainable_variables)
        return loss

    feed(train_step, states, actions, (rewards - rewards.mean()) / rewards.std())


@bug("NegatedLoss")
def overlap_is_minimized(tap: Tap, broken: bool) -> None:
    """Dice's coefficient instead of 1 less the coefficient."""
    model = pixelwise()

    def loss_of(x: Any, y: Any) -> Any:
        likely, wanted = tf.nn.softmax(model(x))[..., 1], tf.cast(y, tf.float32)
        common = 2 * tf.reduce_sum(likely * wanted, (1, 2)) + 1
        overlap = common / (tf.reduce_sum(likely, (1, 2)) + tf.reduce_sum(wanted, (1, 2)) + 1)
        return tf.reduce_mean(overlap if broken else 1 - overlap)  # bug

    train(tap, segments(), model.trainable_variables, loss_of, keras.optimizers.Adam(1e-3))


@bug("LossInputMismatch")
def generator_learns_to_fail(tap: Tap, broken: bool) -> None:
    """The generator of a GAN is trained to be recognized."""
    x, _ = table()
    generator = mlp(layers.Dense(16, activation="relu"), head=layers.Dense(8), features=4)
    critic = mlp(layers.Dense(32, activation="relu"), head=layers.Dense(1))
    first, second = keras.optimizers.Adam(1e-3), keras.optimizers.Adam(1e-3)
    loss_of = keras.losses.BinaryCrossentropy(from_logits=True)

    @tap.function
    def train_step(real: Any, noise: Any) -> Any:
        with tf.GradientTape() as of_critic, tf.GradientTape() as of_generator:
            made = generator(noise)
            right, wrong = critic(real), critic(made)
            critic_loss = loss_of(tf.ones_like(right), right) + loss_of(tf.zeros_like(wrong), wrong)
            wanted = tf.zeros_like(wrong) if broken else tf.ones_like(wrong)  # bug
            generator_loss = loss_of(wanted, wrong)
        apply(first, of_critic, critic_loss, critic.trainable_variables)
        apply(second, of_generator, generator_loss, generator.trainable_variables)
        return critic_loss

    feed(train_step, x, np.random.default_rng(1).standard_normal((len(x), 4)).astype(np.float32))
