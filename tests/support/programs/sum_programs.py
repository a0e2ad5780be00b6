"""Programs whose results depend on which term a sum of three or more begins with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

from .capturing import Capture, Program, Results, each_step, floats

ROWS = 48


def _trained(
    capture: Capture, weights: Sequence[Any], forward: Callable[[Any], Any], rows: int | None = 8
) -> Results:
    """Gradient descent of a loss; `rows` of a batch, None if they are not known when it is traced."""

    @tf.function(input_signature=[tf.TensorSpec([rows, 4])])
    def train(x: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = forward(x)
        for weight, gradient in zip(weights, tape.gradient(loss, weights), strict=True):
            weight.assign_sub(0.1 * gradient)
        return loss

    return {"losses": each_step(capture, train, floats(ROWS, 4)), "weights": list(weights)}


def _looped(x: Any, weight: Any) -> Any:
    _, x = tf.while_loop(lambda i, _: i < 5, lambda i, x: (i + 1, tf.tanh(x @ weight)), [0, x])
    return x + tf.map_fn(lambda row: tf.tanh(tf.linalg.matvec(weight, row)), x)


def _loss(x: Any, weight: Any, last: Any) -> Any:
    return tf.reduce_mean(x * x) + 1e-3 * tf.reduce_sum(weight * weight) + tf.reduce_mean((x @ last) ** 2)


def weight_shared_by_loops(capture: Capture) -> Results:
    """The gradient of a weight sums what a loop, a map and a branch return."""
    weight, last = tf.Variable(floats(4, 4) * 0.5), tf.Variable(floats(4, 4))

    def forward(x: Any) -> Any:
        x = _looped(x, weight)
        x = tf.cond(tf.reduce_sum(x) > 0, lambda: x @ weight, lambda: tf.sin(x @ weight))
        return _loss(x, weight, last)

    return _trained(capture, [weight, last], forward)


def weight_shared_after_noise(capture: Capture) -> Results:
    """Inner functions instead of the branch, and draws with a seed of their own."""
    weight, last = tf.Variable(floats(4, 4) * 0.5), tf.Variable(floats(4, 4))

    @tf.function
    def layer(x: Any) -> Any:
        return tf.tanh(x @ weight)

    def forward(x: Any) -> Any:
        x = _looped(x + 0.1 * tf.random.normal(tf.shape(x), seed=1), weight)
        return _loss(layer(x) + layer(x * 0.3), weight, last)

    return _trained(capture, [weight, last], forward)


def draws_in_sums(capture: Capture) -> Results:
    """Noise is a term."""
    weight, last = tf.Variable(floats(4, 4)), tf.Variable(floats(4, 4, seed=3))

    def forward(x: Any) -> Any:
        return tf.reduce_mean((x @ weight + tf.random.normal([8, 4]) + tf.sin(x @ last)) ** 2)

    return _trained(capture, [weight, last], forward)


def arguments_in_sums(capture: Capture) -> Results:
    """An inner function and a loop sum what they are given; the loop's variables change places."""
    weight, last = tf.Variable(floats(4, 4)), tf.Variable(floats(4, 4, seed=3))

    @tf.function
    def join(x: Any, y: Any) -> Any:
        return x + y + tf.sin(x @ last)

    def advance(i: Any, x: Any, y: Any, z: Any) -> Any:
        return i + 1, tf.add_n([x @ weight, y, tf.tanh(x)]), z, tf.tanh(x @ last)

    def forward(x: Any) -> Any:
        x = join(x @ weight, tf.cos(x @ last))
        start = [0, x @ weight, tf.sin(x @ last), tf.cos(x)]
        return tf.reduce_mean(tf.sin(tf.while_loop(lambda i, *_: i < 4, advance, start)[1]))

    return _trained(capture, [weight, last], forward)


def residuals_of_normalized(capture: Capture) -> Results:
    """Gradients that are summed along the axes of a broadcast, of which the optimizer finds none."""
    weight, last = tf.Variable(floats(4, 4)), tf.Variable(floats(4, 4, seed=3))

    def normalized(x: Any) -> Any:
        mean = tf.reduce_mean(x, axis=-1, keepdims=True)
        variance = tf.reduce_mean(tf.math.squared_difference(x, tf.stop_gradient(mean)), -1, keepdims=True)
        return x * tf.math.rsqrt(variance + 1e-3) - mean

    def forward(x: Any) -> Any:
        for each in (weight, last, weight, last):
            x = x @ each
            x += tf.nn.gelu(normalized(x) @ last) + normalized(x) @ weight
        return tf.reduce_mean(tf.sin(x))

    return _trained(capture, [weight, last], forward, rows=None)


def losses_of_constant_labels(capture: Capture) -> Results:
    """Gradients sum a constant, whose name orders the terms; the optimizer takes equal ones for one."""
    weight, last = tf.Variable(floats(4, 4)), tf.Variable(floats(4, 4, seed=3))

    def forward(x: Any) -> Any:
        real, fake = x @ weight, tf.sin(x) @ last
        pairs = [(tf.ones_like(fake), fake), (tf.ones_like(real), real), (tf.zeros_like(fake), fake)]
        losses = [tf.nn.sigmoid_cross_entropy_with_logits(*pair) for pair in pairs]
        return tf.reduce_mean(losses[0]) + tf.reduce_mean(losses[1] + losses[2])

    return _trained(capture, [weight, last], forward)


def variables_in_sums(capture: Capture) -> Results:
    """Loops of which taps capture some iterations sum their variables, which the optimizer orders by name."""
    weight, last = tf.Variable(floats(4, 4)), tf.Variable(floats(4, 4, seed=3))

    @tf.function
    def infer(x: Any) -> Any:
        def step(i: Any, x: Any, y: Any) -> Any:
            return i + 1, tf.sin(y), tf.add_n([tf.tanh(y @ weight), x, tf.sin(y @ last), y]) * 0.5

        return tf.while_loop(lambda i, *_: i < 25, step, [0, tf.sin(x), tf.cos(x)])

    return {"results": each_step(capture, infer, floats(ROWS, 4))}


def terms_given_to_calls(capture: Capture) -> Results:
    """What a loop and a function with effects are given, and may return, is a term; they run once."""
    runs = tf.Variable(0)

    @tf.function
    def noted(x: Any) -> Any:
        runs.assign_add(100)
        return x

    @tf.function
    def infer(x: Any) -> Any:
        def step(i: Any, x: Any, y: Any) -> Any:
            runs.assign_add(1)
            return i + 1, x // 3, y

        x = tf.cast(x * 100.0, tf.int32)
        given = [x // 7, x // 5, x // 2]
        _, y, z = tf.while_loop(lambda i, *_: i < 3, step, [0, *given[:2]])
        return tf.add_n([x // 11, *given]), y // 13, z // 17, noted(given[2]) // 19

    return {"results": each_step(capture, infer, floats(ROWS, 4)), "runs": runs}


def terms_read_in_calls(capture: Capture) -> Results:
    """Functions and branches read what their caller sums later; a tap in them must not hold it."""
    weight = tf.Variable(floats(4, 4))

    @tf.function
    def inner(x: Any) -> Any:
        return tf.tanh(tf.identity(x)) @ weight

    @tf.function
    def outer(x: Any) -> Any:
        return inner(tf.reshape(x, [8, 4])) * 0.5

    def branch(x: Any) -> Any:
        return tf.cond(x[0, 0] > -10, lambda: tf.tanh(tf.identity(x)), lambda: x * 2)

    def summing(read: Callable[[Any], Any]) -> Any:
        @tf.function
        def infer(b: Any) -> Any:
            a = tf.sin(b @ weight, name="a")  # the optimizer sorts terms by name: this one, then the argument
            result = read(a)
            product = tf.tile(result, [64, 64]) @ tf.tile(result, [32, 128])  # 5 ms: all readers are done
            with tf.control_dependencies([product]):
                return tf.add_n([a, b, tf.cos(b, name="c"), tf.exp(b, name="d")]), result

        return infer

    reads = {"inner": inner, "outer": outer, "branch": branch}
    return {name: each_step(capture, summing(read), floats(ROWS, 4)) for name, read in reads.items()}


PROGRAMS: list[Program] = [
    *(weight_shared_by_loops, weight_shared_after_noise, draws_in_sums),
    *(arguments_in_sums, residuals_of_normalized),
    *(losses_of_constant_labels, variables_in_sums, terms_given_to_calls),
    terms_read_in_calls,
]
