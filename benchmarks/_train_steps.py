"""Train steps of two models, over one batch each, like a user's custom loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Step = Callable[[], Any]


# What `Watch()` skips as bookkeeping, and handles.
NOT_RETURNED = ("Const", "Placeholder", "NoOp", "VarHandleOp")


def make_step(model: str, quick: bool, *, returning_all: bool = False) -> Step:
    """A train step over one batch, like a user's custom loop.

    With `returning_all` the traced function itself returns every tensor that it computes: the cost
    of returning them without a tap.
    """
    import tensorflow as tf

    keras_model, x, y = cnn(quick) if model == "cnn" else transformer(quick)
    from keras import losses, optimizers

    loss_of = losses.SparseCategoricalCrossentropy(from_logits=True)
    optimizer = optimizers.Adam(1e-3)
    optimizer.build(keras_model.trainable_variables)

    @tf.function
    def train(x: Any, y: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = loss_of(y, keras_model(x, training=True))
        gradients = tape.gradient(loss, keras_model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, keras_model.trainable_variables, strict=True))
        return (loss, all_tensors()) if returning_all else (loss,)

    def all_tensors() -> list[Any]:
        operations = tf.compat.v1.get_default_graph().get_operations()
        tensors = [tensor for each in operations if each.type not in NOT_RETURNED for tensor in each.outputs]
        return [tensor for tensor in tensors if tensor.dtype not in (tf.resource, tf.variant)]

    batch = tf.constant(x), tf.constant(y)
    return lambda: train(*batch)[0].numpy()


def cnn(quick: bool) -> tuple[Any, Any, Any]:
    import numpy as np
    from keras import Model, layers

    size = 16 if quick else 32
    inputs = x = layers.Input((size, size, 3))
    for index, filters in enumerate((32, 64, 64)):
        x = layers.Conv2D(filters, 3, padding="same", name=f"conv{index}")(x)
        x = layers.BatchNormalization(name=f"norm{index}")(x)
        x = layers.MaxPooling2D(2, name=f"pool{index}")(layers.ReLU(name=f"relu{index}")(x))
    outputs = layers.Dense(10, name="logits")(layers.Dense(64, "relu", name="hidden")(layers.Flatten()(x)))
    random = np.random.default_rng(0)
    batch = random.standard_normal((32, size, size, 3)).astype(np.float32), random.integers(0, 10, 32)
    return Model(inputs, outputs, name="cnn"), *batch


def transformer(quick: bool) -> tuple[Any, Any, Any]:
    import numpy as np
    from keras import Model, layers

    width, length, words = (64, 32, 200) if quick else (128, 64, 1000)
    inputs = layers.Input((length,), dtype="int32")
    x = layers.Embedding(words, width, name="embedding")(inputs)
    for index in range(4):
        normal = layers.LayerNormalization(name=f"norm{index}a")(x)
        x = x + layers.MultiHeadAttention(4, width // 4, name=f"attention{index}")(normal, normal)
        hidden = layers.Dense(4 * width, "gelu", name=f"up{index}")(
            layers.LayerNormalization(name=f"norm{index}b")(x)
        )
        x = x + layers.Dense(width, name=f"down{index}")(hidden)
    outputs = layers.Dense(words, name="logits")(x)
    random = np.random.default_rng(0)
    batch = random.integers(0, words, (8, length)).astype(np.int32), random.integers(0, words, (8, length))
    return Model(inputs, outputs, name="transformer"), *batch
