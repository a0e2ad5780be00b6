"""Training loops that run op by op, without functions."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
import tensorflow as tf
from keras import layers

from .capturing import Capture, Program, Results, batches, floats, integers, state

ROWS = 32  # four batches of eight


class _Dense(tf.Module):
    """Creates its variables when it is first called, without names."""

    def __init__(self, units: int, seed: int) -> None:
        super().__init__()
        self.units, self.seed, self.kernel = units, seed, None

    def __call__(self, x: Any) -> Any:
        if self.kernel is None:
            self.kernel = tf.Variable(floats(x.shape[-1], self.units, seed=self.seed) * 0.3)
            self.bias = tf.Variable(tf.zeros([self.units]))
            self.gain = tf.Variable(1.0)
        return (x @ self.kernel + self.bias) * self.gain


def optimizer_by_hand(capture: Capture) -> Results:
    """Modules without Keras, a forward pass in a function, and Adam written out in eager ops."""
    first, second = _Dense(8, 1), _Dense(3, 2)
    forward = tf.function(lambda x: second(tf.nn.relu(first(x))))
    moments: list[tuple[tf.Variable, tf.Variable]] = []
    losses = []
    for number, (x, y) in enumerate(batches(floats(ROWS, 5), integers(3, ROWS))):
        with capture.eager_step():
            with tf.GradientTape() as tape:
                all_losses = tf.nn.sparse_softmax_cross_entropy_with_logits(y, forward(tf.constant(x)))
                loss = tf.reduce_mean(all_losses)
            weights = [*first.trainable_variables, *second.trainable_variables]
            gradients = tape.gradient(loss, weights)
            moments = moments or [
                (tf.Variable(tf.zeros_like(weight)), tf.Variable(tf.zeros_like(weight))) for weight in weights
            ]
            for weight, gradient, (mean, square) in zip(weights, gradients, moments, strict=True):
                mean.assign(0.9 * mean + 0.1 * gradient)
                square.assign(0.99 * square + 0.01 * gradient**2)
                scale = tf.sqrt(square / (1 - 0.99 ** (number + 1))) + 1e-7
                weight.assign_sub(0.05 * (mean / (1 - 0.9 ** (number + 1))) / scale)
            losses.append(loss)
    return {"losses": losses, "weights": weights, "moments": moments}


def eager_episodes(capture: Capture) -> Results:
    """Actor and critic: an episode is a step, Python draws the actions from what the network returns."""
    inputs = layers.Input((4,))
    hidden = layers.Dense(8, "relu")(inputs)
    model = keras.Model(inputs, [layers.Dense(2, "softmax")(hidden), layers.Dense(1)(hidden)])
    optimizer, huber = keras.optimizers.Adam(0.01), keras.losses.Huber()
    drawn = np.random.default_rng(1)
    losses = []
    for episode in range(4):
        place = floats(4, seed=episode)
        with capture.eager_step():
            chosen, values, rewards = [], [], []
            with tf.GradientTape() as tape:
                for _ in range(5):
                    shares, value = model(place[np.newaxis])
                    action = drawn.choice(2, p=shares[0].numpy() / shares[0].numpy().sum())
                    place = np.tanh(place + 0.3 * (2 * action - 1)).astype(np.float32)
                    chosen.append(tf.math.log(shares[0, action]))
                    values.append(value[0, 0])
                    rewards.append(1.0 - abs(float(place[0])))
                returns = np.cumsum(rewards[::-1])[::-1].astype(np.float32)
                loss = tf.add_n(
                    [
                        huber(value[None], earned[None]) - chance * (earned - tf.stop_gradient(value))
                        for chance, value, earned in zip(chosen, values, returns, strict=True)
                    ]
                )
            weights = model.trainable_variables
            optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights, strict=True))
            losses.append(loss)
    return {"losses": losses, **state(model, optimizer)}


def eager_newton(capture: Capture) -> Results:
    """A Hessian by a tape in a tape, and a persistent tape beside them."""
    weight = tf.Variable(floats(4, 3) * 0.3, name="weight")
    results = []
    for (x,) in batches(floats(ROWS, 4)):
        with capture.eager_step():
            with tf.GradientTape(persistent=True) as outer:
                with tf.GradientTape() as inner:
                    loss = tf.reduce_mean(tf.nn.elu(x @ weight) ** 2)
                gradient = inner.gradient(loss, weight)
                size = tf.norm(gradient)
            hessian = tf.reshape(outer.jacobian(gradient, weight), [12, 12])
            step = tf.linalg.solve(hessian + 0.1 * tf.eye(12), tf.reshape(gradient, [12, 1]))
            weight.assign_sub(tf.reshape(step, [4, 3]) + 0.01 * outer.gradient(size, weight))
            results += [loss, hessian, size]
    return {"results": results, "weight": weight}


def eager_custom_gradients(capture: Capture) -> Results:
    """Gradients of the program's own, one of them with variables, and one that computes its op again."""
    weight, gain = tf.Variable(floats(3, 3)), tf.Variable(2.0)

    @tf.custom_gradient
    def clipped(x: Any) -> Any:
        return x, lambda upstream: tf.clip_by_norm(upstream, 0.5)

    @tf.custom_gradient
    def scaled(x: Any) -> Any:
        product = x @ weight

        def backward(upstream: Any, variables: Any = None) -> Any:
            of = {
                weight.ref(): tf.transpose(x) @ upstream * gain,
                gain.ref(): tf.reduce_sum(upstream * product),
            }
            return upstream @ tf.transpose(weight) * gain, [of[each.ref()] for each in variables]

        return product * gain, backward

    losses = []
    for (x,) in batches(floats(ROWS, 3)):
        with capture.eager_step():
            with tf.GradientTape() as tape:
                hidden = clipped(scaled(tf.constant(x)))
                loss = tf.reduce_sum(tf.recompute_grad(tf.tanh)(hidden) ** 2)
            for each, gradient in zip((weight, gain), tape.gradient(loss, [weight, gain]), strict=True):
                each.assign_sub(0.01 * gradient)
            losses.append(loss)
    return {"losses": losses, "weight": weight, "gain": gain}


PROGRAMS: list[Program] = [optimizer_by_hand, eager_episodes, eager_newton, eager_custom_gradients]
