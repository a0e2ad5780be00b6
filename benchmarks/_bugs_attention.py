"""Attention with one common mistake each, and the same without it.

Lines that hold the mistake end in `# bug`.
"""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
import tensorflow as tf
from _bugs import BATCH, STEPS, Array, bug, fitting, from_logits, layers
from _bugs_numbers import cross_entropy, train

from tensortap import Tap


def series() -> tuple[Array, Array]:
    """Six vectors a sample, and whether a number in the third is positive."""
    x = np.random.default_rng(0).standard_normal((STEPS * BATCH, 6, 16)).astype(np.float32)
    return x, (x[:, 2, 0] > 0).astype(np.int32)


def projections(*outputs: int) -> list[Any]:
    made = [layers.Dense(width) for width in outputs]
    for layer in made:
        layer.build((None, 6, 16))
    return made


def weights_of(made: list[Any]) -> list[Any]:
    return [variable for layer in made for variable in layer.trainable_variables]


@bug("SoftmaxAxis")
def softmax_of_queries(tap: Tap, broken: bool) -> None:
    """The mean over the queries is then that of all values, whatever the scores."""
    query, key, value, head = made = projections(16, 16, 16, 2)

    def loss_of(x: Any, y: Any) -> Any:
        scores = tf.einsum("bqd,bkd->bqk", query(x), key(x)) / 4.0
        weights = tf.nn.softmax(scores, axis=1 if broken else 2)  # bug
        return cross_entropy(y, head(tf.reduce_mean(tf.einsum("bqk,bkd->bqd", weights, value(x)), 1)))

    train(tap, series(), weights_of(made), loss_of)


@bug("SoftmaxAxis")
def heads_with_a_residual(tap: Tap, broken: bool) -> None:
    """Two heads with dropout; beside the residual connection nothing seems wrong."""

    class Heads(layers.Layer):
        def __init__(self) -> None:
            super().__init__()
            self.all, self.out, self.drop = layers.Dense(48), layers.Dense(16), layers.Dropout(0.1)

        def call(self, x: Any, training: bool = False) -> Any:
            parts = tf.reshape(self.all(x), (-1, 6, 3, 2, 8))
            query, key, value = tf.unstack(tf.transpose(parts, (2, 0, 3, 1, 4)))
            scores = tf.matmul(query, key, transpose_b=True) / 8**0.5
            weights = self.drop(tf.nn.softmax(scores, axis=-2 if broken else -1), training=training)  # bug
            mixed = tf.transpose(tf.matmul(weights, value), (0, 2, 1, 3))
            return self.out(tf.reshape(mixed, (-1, 6, 16)))

    inputs = keras.Input((6, 16))
    mixed = layers.LayerNormalization()(inputs + Heads()(inputs))
    model = keras.Model(inputs, layers.Dense(2)(layers.Flatten()(mixed)))
    model.compile(keras.optimizers.Adam(1e-2), from_logits())
    model.fit(*series(), **fitting(tap))


@bug("SoftmaxAxis")
def softmax_of_samples(tap: Tap, broken: bool) -> None:
    query, key, value, head = made = projections(16, 16, 16, 2)

    def loss_of(x: Any, y: Any) -> Any:
        scores = tf.matmul(query(x), key(x), transpose_b=True) / 4.0
        mixed = x + tf.matmul(tf.nn.softmax(scores, axis=0 if broken else -1), value(x))  # bug
        return cross_entropy(y, head(tf.reduce_mean(mixed, 1)))

    train(tap, series(), weights_of(made), loss_of)


@bug("MaskSign")
def future_instead_of_past(tap: Tap, broken: bool) -> None:
    """A causal mask that adds where it should subtract."""
    query, key, value, head = made = projections(16, 16, 16, 16)

    def loss_of(x: Any) -> Any:
        scores = tf.matmul(query(x), key(x), transpose_b=True) / 4.0
        future = 1.0 - tf.linalg.band_part(tf.ones((6, 6)), -1, 0)
        scores += future * (1e9 if broken else -1e9)  # bug
        mixed = tf.matmul(tf.nn.softmax(scores), value(x))
        return tf.reduce_mean(tf.square(head(x + mixed)[:, :-1] - x[:, 1:]))

    train(tap, (np.cumsum(series()[0], 1) / 3,), weights_of(made), loss_of, keras.optimizers.Adam(1e-3))


@bug("DeadGradient")
def only_padding_allowed(tap: Tap, broken: bool) -> None:
    """A padding mask that is inverted."""
    x, y = series()
    x[:, 4:] = 0
    inputs = keras.Input((6, 16))
    allowed = layers.Lambda(
        lambda x: tf.reduce_any(x == 0 if broken else x != 0, -1)[:, None], output_shape=(1, 6)
    )
    mask = allowed(inputs)  # bug
    mixed = layers.MultiHeadAttention(2, 8, name="attention")(inputs, inputs, attention_mask=mask)  # bug
    model = keras.Model(inputs, layers.Dense(2)(layers.Flatten()(inputs + mixed)))
    model.compile(keras.optimizers.Adam(1e-2), from_logits())
    model.fit(x, y, **fitting(tap))
