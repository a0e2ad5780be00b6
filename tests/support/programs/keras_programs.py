"""Models that Keras' `fit` trains, after the code examples of keras.io."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
import tensorflow as tf
from keras import layers

from .capturing import Capture, Program, Results, fit, floats, integers, state

ROWS = 48  # six batches of eight


def mlp(capture: Capture) -> Results:
    """Class weights, momentum, a learning-rate schedule and L2 regularization."""
    model = keras.Sequential(
        [
            layers.Input((6,)),
            layers.Dense(16, "relu", kernel_regularizer=keras.regularizers.L2(1e-3)),
            layers.Dropout(0.2),
            layers.Dense(3, "softmax"),
        ]
    )
    rate = keras.optimizers.schedules.ExponentialDecay(0.1, 3, 0.9)
    optimizer = keras.optimizers.SGD(rate, momentum=0.9, nesterov=True)
    model.compile(optimizer, "sparse_categorical_crossentropy", metrics=["accuracy"])
    weight = {0: 1.0, 1: 2.0, 2: 0.5}
    return fit(capture, model, floats(ROWS, 6), integers(3, ROWS), class_weight=weight, epochs=2)


def cnn(capture: Capture) -> Results:
    """Image classification with augmentation layers and batch normalization, evaluated and used."""
    model = keras.Sequential(
        [
            layers.Input((8, 8, 3)),
            layers.RandomFlip("horizontal"),
            layers.RandomRotation(0.1),
            layers.RandomZoom(0.1),
            layers.Rescaling(1.0 / 255),
            layers.Conv2D(4, 3, padding="same", use_bias=False),
            layers.BatchNormalization(),
            layers.ReLU(),
            layers.SeparableConv2D(6, 3, padding="same", activation="relu"),
            layers.MaxPooling2D(),
            layers.GlobalAveragePooling2D(),
            layers.Dropout(0.25),
            layers.Dense(3),
        ]
    )
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.Adam(3e-2), loss, metrics=["accuracy"], jit_compile=False)
    x, y = np.abs(floats(ROWS, 8, 8, 3)) * 100.0, integers(3, ROWS)
    results = fit(capture, model, x, y)
    results["evaluated"] = model.evaluate(x, y, 8, verbose=0, callbacks=capture.callbacks)
    results["predicted"] = model.predict(x, 8, verbose=0, callbacks=capture.callbacks)
    return results


def unet(capture: Capture) -> Results:
    """Image segmentation: downsampling, upsampling, skips."""
    inputs = keras.Input((8, 8, 2))
    down = layers.Conv2D(4, 3, padding="same", activation="relu")(inputs)
    x = layers.Conv2D(6, 3, strides=2, padding="same")(down)
    x = layers.Activation("swish")(layers.BatchNormalization()(x))
    x = layers.Conv2DTranspose(4, 3, strides=2, padding="same", activation="elu")(x)
    x = layers.Concatenate()([layers.SpatialDropout2D(0.2)(x), down])
    x = layers.Add()([layers.UpSampling2D(2)(layers.AveragePooling2D(2)(x)), x])
    model = keras.Model(inputs, layers.Conv2D(2, 1, activation="softmax")(x))
    model.compile("rmsprop", "sparse_categorical_crossentropy", jit_compile=False)
    return fit(capture, model, floats(ROWS, 8, 8, 2), integers(2, ROWS, 8, 8))


def seq2seq(capture: Capture) -> Results:
    """Character-level translation: an LSTM hands its state to another."""
    source, target = keras.Input((5, 7)), keras.Input((4, 9))
    _, *memory = layers.LSTM(8, return_state=True, dropout=0.1)(source)
    decoded = layers.LSTM(8, return_sequences=True)(target, initial_state=memory)
    model = keras.Model([source, target], layers.Dense(9, "softmax")(decoded))
    model.compile("adam", "sparse_categorical_crossentropy")
    x = [np.eye(7, dtype="f")[integers(7, ROWS, 5)], np.eye(9, dtype="f")[integers(9, ROWS, 4)]]
    return fit(capture, model, x, integers(9, ROWS, 4, seed=3))


def text_classification(capture: Capture) -> Results:
    """Bidirectional GRU over masked tokens."""
    model = keras.Sequential(
        [
            layers.Input((4,), dtype="int32"),
            layers.Embedding(20, 8, mask_zero=True),
            layers.Bidirectional(layers.GRU(5, dropout=0.1)),
            layers.Dense(1, "sigmoid"),
        ]
    )
    model.compile(keras.optimizers.Adam(1e-2, clipnorm=1.0), "binary_crossentropy", metrics=["accuracy"])
    return fit(capture, model, integers(20, ROWS, 4), integers(2, ROWS, 1), sample_weight=np.ones(ROWS, "f"))


class TransformerBlock(layers.Layer):  # type: ignore[misc]
    """Causal attention and a feed-forward network."""

    def __init__(self) -> None:
        super().__init__()
        self.attention = layers.MultiHeadAttention(2, 4, dropout=0.1)
        self.feed_forward = keras.Sequential([layers.Dense(16, "gelu"), layers.Dense(8), layers.Dropout(0.1)])
        self.norms = [layers.LayerNormalization(epsilon=1e-6) for _ in range(2)]

    def call(self, x: Any) -> Any:
        x = self.norms[0](x + self.attention(x, x, use_causal_mask=True))
        return self.norms[1](x + self.feed_forward(x))


def gpt(capture: Capture) -> Results:
    """Miniature GPT: token and position embeddings, tied output, AdamW and clipping by global norm."""
    tokens = keras.Input((6,), dtype="int32")
    embedding = layers.Embedding(11, 8)
    positions = layers.Embedding(6, 8)(np.arange(6))
    x = embedding(tokens) + positions
    x = TransformerBlock()(x)
    logits = layers.Lambda(lambda x: keras.ops.matmul(x, keras.ops.transpose(embedding.embeddings)))(x)
    model = keras.Model(tokens, logits)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.AdamW(1e-2, global_clipnorm=1.0), loss, jit_compile=False)
    text = integers(11, ROWS, 7)
    return fit(capture, model, text[:, :-1], text[:, 1:])


def mixed_precision(capture: Capture) -> Results:
    """float16 with loss scaling."""
    keras.mixed_precision.set_global_policy("mixed_float16")
    try:
        inputs = keras.Input((6,))
        x = layers.Dropout(0.1)(layers.Dense(16, "relu")(inputs))
        model = keras.Model(inputs, layers.Dense(3, dtype="float32")(x))
        loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        model.compile(keras.optimizers.Adam(1e-2), loss)
        return fit(capture, model, floats(ROWS, 6) * 100.0, integers(3, ROWS))
    finally:
        keras.mixed_precision.set_global_policy("float32")


def autoencoder(capture: Capture) -> Results:
    """Denoising by GaussianNoise, weights averaged over steps, gradients accumulated over two batches."""
    model = keras.Sequential(
        [layers.Input((8,)), layers.GaussianNoise(0.2), layers.Dense(4, "selu"), layers.Dense(8, "tanh")]
    )
    model.compile(keras.optimizers.Adam(1e-2, use_ema=True, gradient_accumulation_steps=2), "mse")
    x = np.clip(floats(ROWS, 8), -1, 1)
    return fit(capture, model, x, x, epochs=2)


def wide_and_deep(capture: Capture) -> Results:
    """Structured data: normalization, hashed and bucketed features, two outputs with losses of their own."""
    age, job = keras.Input((1,)), keras.Input((1,), dtype="string")
    normal = layers.Normalization(mean=40.0, variance=100.0)(age)
    bucket = layers.CategoryEncoding(4, "one_hot")(layers.Discretization([25.0, 35.0, 50.0])(age))
    hashed = layers.Embedding(8, 3)(layers.Hashing(8)(job))
    deep = layers.Dense(8, "relu")(layers.Concatenate()([normal, layers.Flatten()(hashed)]))
    both = layers.Concatenate()([layers.Dropout(0.2)(deep), bucket])
    outputs = {"buys": layers.Dense(1, "sigmoid")(both), "spends": layers.Dense(1)(deep)}
    model = keras.Model([age, job], outputs)
    losses = {"buys": "binary_crossentropy", "spends": "huber"}
    model.compile(keras.optimizers.Ftrl(0.1), losses, loss_weights={"buys": 1.0, "spends": 0.2})
    x = [np.abs(floats(ROWS, 1)) * 50.0, tf.constant([[f"job {n % 7}"] for n in range(ROWS)])]
    return fit(capture, model, x, {"buys": integers(2, ROWS, 1), "spends": floats(ROWS, 1, seed=5)})


def several_steps_a_call(capture: Capture) -> Results:
    """`steps_per_execution`, over a shuffled dataset that draws noise."""
    model = keras.Sequential([layers.Input((6,)), layers.Dropout(0.3), layers.Dense(3)])
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile("adamax", loss, steps_per_execution=3, jit_compile=False)
    rows = tf.data.Dataset.from_tensor_slices((floats(ROWS, 6), integers(3, ROWS)))
    rows = rows.map(lambda x, y: (x + tf.random.normal([6], seed=4), y)).shuffle(32, seed=3).batch(4)
    return fit(capture, model, rows, batch_size=None, shuffle=False)


def xla(capture: Capture) -> Results:
    """Compiled by XLA."""
    model = keras.Sequential([layers.Input((6,)), layers.Dense(8, "relu"), layers.Dense(3)])
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile("sgd", loss, jit_compile=True)
    return fit(capture, model, floats(ROWS, 6), integers(3, ROWS))


def transfer_learning(capture: Capture) -> Results:
    """A frozen base below a new head, then fine-tuning: the model is compiled twice."""
    base = keras.Sequential([layers.Dense(8, "relu"), layers.BatchNormalization(), layers.Dense(8, "relu")])
    inputs = keras.Input((6,))
    base.trainable = False
    model = keras.Model(inputs, layers.Dense(3, "softmax")(layers.Dropout(0.2)(base(inputs, training=False))))
    model.compile("adam", "sparse_categorical_crossentropy")
    x, y = floats(ROWS, 6), integers(3, ROWS)
    frozen = fit(capture, model, x, y)
    base.trainable = True
    model.compile(keras.optimizers.RMSprop(1e-3), "sparse_categorical_crossentropy")
    return {"frozen": frozen, **fit(capture, model, x, y)}


def siamese(capture: Capture) -> Results:
    """Two towers that share weights, and a contrastive loss."""
    tower = keras.Sequential([layers.Input((6,)), layers.Dense(8, "tanh"), layers.Dense(4)])
    left, right = keras.Input((6,)), keras.Input((6,))
    distance = keras.ops.sqrt(keras.ops.sum((tower(left) - tower(right)) ** 2, 1, keepdims=True) + 1e-7)

    def contrastive(same: Any, distance: Any) -> Any:
        same = keras.ops.cast(same, "float32")
        far = keras.ops.square(keras.ops.maximum(1.0 - distance, 0.0))
        return keras.ops.mean(same * keras.ops.square(distance) + (1.0 - same) * far)

    model = keras.Model([left, right], distance)
    model.compile(keras.optimizers.Nadam(1e-2), contrastive)
    return fit(capture, model, [floats(ROWS, 6), floats(ROWS, 6, seed=4)], integers(2, ROWS, 1))


class SimilarPairs(keras.Model):  # type: ignore[misc]
    """SimCLR: two augmented views of an image are each other's labels."""

    def __init__(self) -> None:
        super().__init__()
        self.augment = keras.Sequential([layers.RandomFlip(), layers.RandomContrast(0.4)])
        self.encode = keras.Sequential(
            [layers.Conv2D(4, 3, activation="relu"), layers.Flatten(), layers.Dense(6)]
        )

    def train_step(self, data: Any) -> Any:
        with tf.GradientTape() as tape:
            views = [
                tf.math.l2_normalize(self.encode(self.augment(data, training=True)), 1) for _ in range(2)
            ]
            similarities = tf.matmul(*views, transpose_b=True) / 0.1
            labels = tf.range(tf.shape(data)[0])
            loss = tf.reduce_mean(
                keras.losses.sparse_categorical_crossentropy(labels, similarities, from_logits=True)
                + keras.losses.sparse_categorical_crossentropy(
                    labels, tf.transpose(similarities), from_logits=True
                )
            )
        self.optimizer.apply_gradients(
            zip(tape.gradient(loss, self.trainable_weights), self.trainable_weights, strict=True)
        )
        return {"loss": loss}


def contrastive_learning(capture: Capture) -> Results:
    """A custom train step over augmentation layers."""
    model = SimilarPairs()
    model.compile("adam", jit_compile=False)
    return fit(capture, model, np.abs(floats(ROWS, 6, 6, 3)))


class VariationalAutoencoder(keras.Model):  # type: ignore[misc]
    """Draws its latent sample by `tf.random.normal`."""

    def __init__(self) -> None:
        super().__init__()
        self.encode = keras.Sequential([layers.Dense(8, "relu"), layers.Dense(4)])
        self.decode = keras.Sequential([layers.Dense(8, "relu"), layers.Dense(6)])

    def train_step(self, data: Any) -> Any:
        with tf.GradientTape() as tape:
            mean, log_var = tf.split(self.encode(data), 2, 1)
            z = mean + tf.exp(0.5 * log_var) * tf.random.normal(tf.shape(mean))
            error = tf.reduce_mean(tf.square(self.decode(z) - data))
            divergence = -0.5 * tf.reduce_mean(1 + log_var - tf.square(mean) - tf.exp(log_var))
            loss = error + divergence
        self.optimizer.apply(tape.gradient(loss, self.trainable_weights), self.trainable_weights)
        return {"loss": loss, "divergence": divergence}


def vae(capture: Capture) -> Results:
    """A variational autoencoder with a custom train step."""
    model = VariationalAutoencoder()
    model.compile(keras.optimizers.Adam(1e-2), jit_compile=False)
    return fit(capture, model, floats(ROWS, 6), epochs=2)


class GenerativeAdversarialNetwork(keras.Model):  # type: ignore[misc]
    """Two optimizers, and three draws in a step."""

    def __init__(self) -> None:
        super().__init__()
        self.generate = keras.Sequential([layers.Dense(8, layers.LeakyReLU(0.2)), layers.Dense(6)])
        self.judge = keras.Sequential(
            [layers.Dense(8, layers.LeakyReLU(0.2)), layers.Dropout(0.3), layers.Dense(1)]
        )
        self.optimizers = [keras.optimizers.Adam(1e-2, beta_1=0.5) for _ in range(2)]

    def train_step(self, data: Any) -> Any:
        size = tf.shape(data)[0]
        fake = self.generate(tf.random.normal((size, 3)))
        labels = tf.concat([tf.ones((size, 1)), tf.zeros((size, 1))], 0)
        labels += 0.05 * tf.random.uniform(tf.shape(labels))
        losses = []
        for optimizer, network in zip(self.optimizers, (self.judge, self.generate), strict=True):
            with tf.GradientTape() as tape:
                if network is self.judge:
                    scores = self.judge(tf.concat([fake, data], 0), training=True)
                    loss = tf.reduce_mean(keras.losses.binary_crossentropy(labels, scores, from_logits=True))
                else:
                    scores = self.judge(self.generate(tf.random.normal((size, 3))))
                    loss = tf.reduce_mean(tf.nn.softplus(scores))
            optimizer.apply(tape.gradient(loss, network.trainable_weights), network.trainable_weights)
            losses.append(loss)
        return {"judge": losses[0], "generator": losses[1]}


def gan(capture: Capture) -> Results:
    """A generative adversarial network with a custom train step."""
    model = GenerativeAdversarialNetwork()
    model.compile(jit_compile=False)
    return {**fit(capture, model, floats(ROWS, 6)), **state(*model.optimizers)}


class WassersteinNetwork(keras.Model):  # type: ignore[misc]
    """A critic that is applied to three batches, and penalized for its gradient by the inputs.

    oneDNN computes the gradients of the convolution's kernel and bias in one kernel.
    """

    def __init__(self) -> None:
        super().__init__()
        convolution = layers.Conv2D(6, 3, strides=2, padding="same")
        critic = [convolution, layers.LeakyReLU(0.2), layers.Dropout(0.3), layers.Flatten(), layers.Dense(1)]
        self.critic = keras.Sequential([keras.Input((8, 8, 1)), *critic])
        upwards = [layers.Dense(64, use_bias=False), layers.BatchNormalization(), layers.LeakyReLU(0.2)]
        pictures = [layers.Reshape((4, 4, 4)), layers.UpSampling2D(), layers.Conv2D(1, 3, padding="same")]
        self.generate = keras.Sequential([keras.Input((5,)), *upwards, *pictures])
        self.optimizers = [keras.optimizers.Adam(2e-3, beta_1=0.5) for _ in range(2)]

    def penalty(self, real: Any, fake: Any) -> Any:
        mixed = real + tf.random.uniform([tf.shape(real)[0], 1, 1, 1]) * (fake - real)
        with tf.GradientTape() as tape:
            tape.watch(mixed)
            scores = self.critic(mixed, training=True)
        squares = tf.reduce_sum(tf.square(tape.gradient(scores, mixed)), axis=[1, 2, 3])
        return tf.reduce_mean((tf.sqrt(squares) - 1.0) ** 2)

    def train_step(self, data: Any) -> Any:
        size = tf.shape(data)[0]
        for optimizer, network in zip(self.optimizers * 2, (self.critic, self.generate) * 2, strict=True):
            with tf.GradientTape() as tape:
                fake = self.generate(tf.random.normal((size, 5)), training=True)
                loss = tf.reduce_mean(self.critic(fake, training=True))
                if network is self.critic:
                    loss -= tf.reduce_mean(self.critic(data, training=True))
                    loss += 10.0 * self.penalty(data, fake)
                else:
                    loss = -loss
            optimizer.apply(tape.gradient(loss, network.trainable_weights), network.trainable_weights)
        return {"loss": loss}


def wasserstein(capture: Capture) -> Results:
    """A Wasserstein network with a gradient penalty, and two optimizers."""
    model = WassersteinNetwork()
    model.compile(jit_compile=False)
    return {**fit(capture, model, floats(ROWS, 8, 8, 1)), **state(*model.optimizers)}


class Diffusion(keras.Model):  # type: ignore[misc]
    """Predicts the noise that was mixed into a sample, at a random time."""

    def __init__(self) -> None:
        super().__init__()
        self.network = keras.Sequential([layers.Dense(16, "swish"), layers.Dense(6)])
        self.average = keras.models.clone_model(self.network)

    def train_step(self, data: Any) -> Any:
        size = tf.shape(data)[0]
        noise = tf.random.normal(tf.shape(data))
        time = tf.random.uniform((size, 1), 0, 10, tf.int32)
        angle = tf.cast(time, tf.float32) / 10.0
        with tf.GradientTape() as tape:
            noisy = tf.cos(angle) * data + tf.sin(angle) * noise
            loss = tf.reduce_mean(tf.abs(self.network(tf.concat([noisy, angle], 1), training=True) - noise))
        weights = self.network.trainable_weights
        self.optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights, strict=True))
        for weight, average in zip(self.network.weights, self.average.weights, strict=True):
            average.assign(0.9 * average + 0.1 * weight)
        return {"loss": loss}


def diffusion(capture: Capture) -> Results:
    """A denoising diffusion model with weights averaged by hand."""
    model = Diffusion()
    model.average.build((None, 7))
    model.compile("adamw", jit_compile=False)
    return fit(capture, model, floats(ROWS, 6))


PROGRAMS: list[Program] = [
    mlp,
    cnn,
    unet,
    seq2seq,
    text_classification,
    gpt,
    mixed_precision,
    autoencoder,
    wide_and_deep,
    several_steps_a_call,
    xla,
    transfer_learning,
    siamese,
    contrastive_learning,
    vae,
    gan,
    wasserstein,
    diffusion,
]
