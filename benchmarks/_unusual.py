"""Sound programs that look unusual: what elsewhere is a mistake is meant here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import tensorflow as tf
from _bugs import BATCH, STEPS, fitting, from_logits, layers, mlp, pictures, table
from _bugs_attention import projections, series, weights_of
from _bugs_numbers import classifier, cross_entropy, train

from tensortap import Tap

PROGRAMS: list[Callable[[Tap], None]] = []


def unusual(program: Callable[[Tap], None]) -> Callable[[Tap], None]:
    PROGRAMS.append(program)
    return program


def built(layer: Any, *shape: int | None) -> Any:
    layer.build(shape)
    return layer


@unusual
def half_precision(tap: Tap) -> None:
    """Weights in float16, and no loss scale: the gradients are large enough."""
    model = mlp(layers.Dense(32, activation="relu", dtype="float16"), head=layers.Dense(3, dtype="float16"))
    optimizer = keras.optimizers.Adam(1e-3, epsilon=1e-4)
    variables = model.trainable_variables
    train(tap, table(), variables, lambda x, y: cross_entropy(y, tf.cast(model(x), tf.float32)), optimizer)


@unusual
def small_loss(tap: Tap) -> None:
    """Adam does not depend on the scale of the loss."""
    model = classifier()
    train(tap, table(), model.trainable_variables, lambda x, y: 1e-6 * cross_entropy(y, model(x)))


@unusual
def uncertainty_weights(tap: Tap) -> None:
    """Two tasks with learnt weights (Kendall et al. 2018), one of which is a multiple of an input."""
    x, _ = table()
    model = mlp(layers.Dense(32, activation="relu"), head=layers.Dense(2))
    logarithms = tf.Variable([0.0, 0.0], name="log_variance")

    def loss_of(x: Any, one: Any, other: Any) -> Any:
        errors = tf.reduce_mean(tf.square(model(x) - tf.concat([one, other], 1)), 0)
        return tf.reduce_sum(tf.exp(-logarithms) * errors + logarithms)

    targets = 2 * x[:, 3:4], x[:, 1:2] - 0.5 * x[:, 2:3]
    train(tap, (x, *targets), model.trainable_variables, loss_of)


@unusual
def conditional_decoder(tap: Tap) -> None:
    """The class is an input of one branch, and the target of another."""
    x, y = table()
    features, classes = keras.Input((8,)), keras.Input((3,))
    code = layers.Dense(4)(layers.Concatenate()([features, classes]))
    decoded = layers.Dense(8, name="decoded")(layers.Dense(32, activation="relu")(code))
    guess = layers.Dense(3, name="guess")(layers.Dense(16, activation="relu")(features))
    model = keras.Model([features, classes], {"decoded": decoded, "guess": guess})
    model.compile(keras.optimizers.Adam(1e-2), {"decoded": "mse", "guess": from_logits()})
    model.fit([x, np.eye(3, dtype=np.float32)[y]], {"decoded": x, "guess": y}, **fitting(tap))


@unusual
def bag_of_instances(tap: Tap) -> None:
    """Attention over the batch, which is one bag (Ilse et al. 2018)."""
    x, y = table()
    order = np.argsort(y, kind="stable")
    embed, score, head = (
        built(layers.Dense(16, activation="tanh"), None, 8),
        built(layers.Dense(1), None, 16),
        built(layers.Dense(3), None, 16),
    )

    def loss_of(x: Any, y: Any) -> Any:
        embedded = embed(x)
        weights = tf.nn.softmax(score(embedded), axis=0)
        return cross_entropy(y[:1], head(tf.reduce_sum(weights * embedded, 0, keepdims=True)))

    variables = [variable for layer in (embed, score, head) for variable in layer.trainable_variables]
    train(tap, (x[order], y[order]), variables, loss_of)


@unusual
def two_views(tap: Tap) -> None:
    """A contrastive loss: softmax over the batch, in both directions."""
    x, _ = table()
    other = x + 0.1 * np.random.default_rng(3).standard_normal(x.shape).astype(np.float32)
    model = mlp(layers.Dense(32, activation="relu"), head=layers.Dense(8))

    def loss_of(one: Any, other: Any) -> Any:
        first, second = (tf.math.l2_normalize(model(each), 1) for each in (one, other))
        alike = tf.matmul(first, second, transpose_b=True) / 0.1
        rows, columns = (tf.linalg.diag_part(tf.nn.log_softmax(alike, axis)) for axis in (1, 0))
        return -tf.reduce_mean(rows + columns)

    train(tap, (x, other), model.trainable_variables, loss_of)


@unusual
def balanced_prototypes(tap: Tap) -> None:
    """SwAV: targets without gradient, normalized over the batch and over the prototypes."""
    x, _ = table()
    model, prototypes = (
        mlp(layers.Dense(32, activation="relu"), head=layers.Dense(8)),
        built(layers.Dense(6, use_bias=False), None, 8),
    )

    def balanced(scores: Any) -> Any:
        codes = tf.exp(tf.stop_gradient(scores) / 0.5)
        for _ in range(3):
            codes /= tf.reduce_sum(codes, 0, keepdims=True)
            codes /= tf.reduce_sum(codes, 1, keepdims=True)
        return codes

    def loss_of(one: Any, other: Any) -> Any:
        first, second = (prototypes(tf.math.l2_normalize(model(each), 1)) for each in (one, other))
        return -tf.reduce_mean(tf.reduce_sum(balanced(first) * tf.nn.log_softmax(second / 0.1), 1))

    variables = [*model.trainable_variables, *prototypes.trainable_variables]
    train(tap, (x, x + 0.1), variables, loss_of, keras.optimizers.Adam(1e-3))


@unusual
def mixture_density(tap: Tap) -> None:
    random = np.random.default_rng(0)
    x = random.uniform(-1, 1, (STEPS * BATCH, 1)).astype(np.float32)
    y = np.where(random.random(x.shape) < 0.5, 1, -1) * x + 0.1 * random.standard_normal(x.shape)
    model = mlp(layers.Dense(32, activation="tanh"), head=layers.Dense(9), features=1)

    def loss_of(x: Any, y: Any) -> Any:
        weights, means, raw = tf.split(model(x), 3, 1)
        deviations = tf.nn.softplus(raw) + 1e-3
        likely = tf.nn.log_softmax(weights) - 0.5 * ((y - means) / deviations) ** 2 - tf.math.log(deviations)
        return -tf.reduce_mean(tf.reduce_logsumexp(likely, 1))

    train(tap, (x, y.astype(np.float32)), model.trainable_variables, loss_of)


@unusual
def low_rank_adapters(tap: Tap) -> None:
    """A frozen model, and a product of two small kernels, of which one begins at 0 (Hu et al. 2021)."""
    x, y = table()
    base = classifier()
    base.compile(keras.optimizers.Adam(1e-2), from_logits())
    base.fit(x, y % 2, verbose=0)
    base.trainable = False
    down = built(layers.Dense(4, use_bias=False, name="down"), None, 8)
    up = built(layers.Dense(3, use_bias=False, kernel_initializer="zeros", name="up"), None, 4)
    variables = [*down.trainable_variables, *up.trainable_variables]
    train(tap, (x, y), variables, lambda x, y: cross_entropy(y, base(x) + up(down(x))))


@unusual
def masked_pixels(tap: Tap) -> None:
    """A masked autoencoder, which drops 75 % of the pixels (He et al. 2022)."""
    x = pictures()[0].reshape(-1, 64)
    model = mlp(layers.Dropout(0.75), layers.Dense(64, activation="relu"), head=layers.Dense(64), features=64)
    model.compile(keras.optimizers.Adam(1e-2), "mse")
    model.fit(x, x, **fitting(tap))


@unusual
def sparse_regression(tap: Tap) -> None:
    """Weights that each step moves towards 0, mostly to exactly 0."""
    x, _ = table()
    y = x[:, :1] - 2 * x[:, 4:5] + 0.1 * np.random.default_rng(1).standard_normal((len(x), 1))
    model, optimizer = mlp(head=layers.Dense(1)), keras.optimizers.SGD(0.01)
    kernel = model.trainable_variables[0]

    @tap.function
    def train_step(x: Any, y: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(model(x) - y))
        variables = model.trainable_variables
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
        kernel.assign(tf.sign(kernel) * tf.nn.relu(tf.abs(kernel) - 2e-3))
        return loss

    for number in range(STEPS):
        part = slice(number * BATCH, (number + 1) * BATCH)
        train_step(tf.constant(x[part]), tf.constant(y[part].astype(np.float32)))


@unusual
def initial_state(tap: Tap) -> None:
    """A recurrent network that gets its first state, zeros, as an input."""
    x = np.random.default_rng(0).standard_normal((STEPS * BATCH, 6, 4)).astype(np.float32)
    y = (x[:, :, 0].sum(1) > 0).astype(np.int32)
    series, state = keras.Input((6, 4)), keras.Input((16,))
    hidden = layers.GRU(16)(series, initial_state=state)
    model = keras.Model([series, state], layers.Dense(2)(hidden))
    model.compile(keras.optimizers.Adam(1e-2), from_logits())
    model.fit([x, np.zeros((len(x), 16), np.float32)], y, **fitting(tap))


@unusual
def finished_hinge_loss(tap: Tap) -> None:
    """A support vector machine whose margin all samples have, in the end."""
    x, y = table(classes=2)
    signs = (2 * y - 1).astype(np.float32)
    x = x + 3 * signs[:, None] * np.eye(1, 8, dtype=np.float32)
    model = mlp(head=layers.Dense(1))

    def loss_of(x: Any, signs: Any) -> Any:
        return tf.reduce_mean(tf.nn.relu(1 - signs * model(x)[:, 0]))

    train(tap, (x, signs), model.trainable_variables, loss_of, keras.optimizers.SGD(0.1))


@unusual
def slot_attention(tap: Tap) -> None:
    """Inputs choose among as many slots, whose weights are divided by their sum (Locatello et al. 2020)."""
    query, key, value, head = made = projections(16, 16, 16, 16)
    slots = np.random.default_rng(2).standard_normal((1, 6, 16)).astype(np.float32)

    def loss_of(x: Any) -> Any:
        scores = tf.matmul(query(tf.tile(slots, (BATCH, 1, 1))), key(x), transpose_b=True) / 4.0
        weights = tf.nn.softmax(scores, axis=1) + 1e-8
        weights /= tf.reduce_sum(weights, 2, keepdims=True)
        return tf.reduce_mean(tf.square(head(tf.matmul(weights, value(x))) - x))

    train(tap, series()[:1], weights_of(made), loss_of, keras.optimizers.Adam(1e-3))


@unusual
def clusters_of_vectors(tap: Tap) -> None:
    """Residuals from clusters: a softmax over these, a sum over the vectors (NetVLAD, Arandjelovic 2016)."""
    assign, head = built(layers.Dense(6), None, 6, 16), built(layers.Dense(2), None, 96)
    centres = tf.Variable(np.random.default_rng(2).standard_normal((6, 16)).astype(np.float32))

    def loss_of(x: Any, y: Any) -> Any:
        weights = tf.nn.softmax(assign(x))
        sums = tf.matmul(weights, x, transpose_a=True)
        sums -= tf.reduce_sum(weights, 1)[..., None] * centres
        return cross_entropy(y, head(tf.reshape(tf.math.l2_normalize(sums, -1), (-1, 96))))

    train(tap, series(), [*weights_of([assign, head]), centres], loss_of, keras.optimizers.Adam(1e-3))


@unusual
def two_modalities(tap: Tap) -> None:
    """One matrix of scores, used in both directions."""
    one, other, head = made = projections(16, 16, 2)

    def loss_of(x: Any, y: Any) -> Any:
        left, right = one(x), other(x[:, ::-1])
        scores = tf.matmul(left, right, transpose_b=True) / 4.0
        seen = tf.matmul(tf.nn.softmax(scores, 2), right) + left
        seen += tf.matmul(tf.nn.softmax(scores, 1), left, transpose_a=True)
        return cross_entropy(y, head(tf.reduce_mean(seen, 1)))

    train(tap, series(), weights_of(made), loss_of, keras.optimizers.Adam(1e-3))


@unusual
def novelty_reward(tap: Tap) -> None:
    """A network learns what another one makes of the states, which stays random (Burda et al. 2018)."""
    x, _ = table()
    fixed = mlp(layers.Dense(64, activation="relu"), head=layers.Dense(16))
    fixed.trainable = False
    model = mlp(layers.Dense(64, activation="relu"), head=layers.Dense(16))
    losses = lambda x: tf.reduce_mean(tf.square(model(x) - tf.stop_gradient(fixed(x))))  # noqa: E731
    train(tap, (x,), model.trainable_variables, losses, keras.optimizers.Adam(1e-3))


@unusual
def radial_basis(tap: Tap) -> None:
    """As many centres as samples in a batch."""
    x = np.random.default_rng(0).uniform(-1, 1, (STEPS * BATCH, 1)).astype(np.float32)
    centres = tf.Variable(np.linspace(-1, 1, BATCH, dtype=np.float32))
    heights = tf.Variable(np.full((BATCH, 1), 0.01, np.float32))

    def loss_of(x: Any, y: Any) -> Any:
        return tf.reduce_mean(tf.square(tf.matmul(tf.exp(-tf.square(x - centres) / 0.1), heights) - y))

    train(tap, (x, np.sin(3 * x)), [centres, heights], loss_of)


@unusual
def feature_token(tap: Tap) -> None:
    """A column times a learnt vector, as long as a batch (Gorishniy et al. 2021)."""
    x, y = table()
    vector, shift = (
        tf.Variable(np.random.default_rng(2).standard_normal(BATCH), dtype="float32") for _ in "ab"
    )
    head = built(layers.Dense(3), None, BATCH)

    def loss_of(x: Any, y: Any) -> Any:
        return cross_entropy(y, head(tf.nn.relu(x * vector + shift)))

    train(tap, (x[:, :1], y), [vector, shift, *head.trainable_variables], loss_of)


@unusual
def only_norms_trained(tap: Tap) -> None:
    """Random filters, of which only batch normalization and the last layer are trained (Frankle 2020)."""
    first, second = (layers.Conv2D(16, 3, trainable=False) for _ in range(2))
    norms = [layers.BatchNormalization(), layers.ReLU(), second, layers.BatchNormalization(), layers.ReLU()]
    model = keras.Sequential([keras.Input((8, 8, 1)), first, *norms, layers.Flatten(), layers.Dense(2)])
    model.compile(keras.optimizers.Adam(1e-2), from_logits())
    model.fit(*pictures(), **fitting(tap))


@unusual
def accumulated_gradients(tap: Tap) -> None:
    """An update every fourth step, and a rate that begins again."""
    rate = keras.optimizers.schedules.CosineDecayRestarts(1e-2, 10)
    model = classifier()
    model.compile(keras.optimizers.Adam(rate, gradient_accumulation_steps=4), from_logits())
    model.fit(*table(), **fitting(tap))
