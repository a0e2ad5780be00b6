"""Models that train in milliseconds."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
import tensorflow as tf

FEATURES, CLASSES, BATCH = 6, 3, 8


def data(batches: int = 4) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Rows for that many batches, always the same."""
    random = np.random.default_rng(1)
    x = random.standard_normal((batches * BATCH, FEATURES)).astype(np.float32)
    return x, random.integers(0, CLASSES, batches * BATCH)


def mlp(**compile_options: Any) -> keras.Model:
    """Two dense layers, compiled with plain gradient descent."""
    keras.utils.set_random_seed(0)
    model = keras.Sequential(
        [
            keras.layers.Input((FEATURES,)),
            keras.layers.Dense(5, activation="relu", name="hidden"),
            keras.layers.Dense(CLASSES, name="logits"),
        ],
        name="mlp",
    )
    return compiled(model, **compile_options)


def cnn() -> keras.Model:
    """Convolution, batch normalization, dropout, Adam: all that keeps state or draws random numbers."""
    keras.utils.set_random_seed(0)
    inputs = keras.layers.Input((8, 8, 2))
    x = keras.layers.Conv2D(4, 3, padding="same", name="conv")(inputs)
    x = keras.layers.BatchNormalization(name="norm")(x)
    x = keras.layers.ReLU(name="relu")(x)
    x = keras.layers.MaxPooling2D(2, name="pool")(x)
    x = keras.layers.Dropout(0.3, name="drop")(keras.layers.Flatten(name="flat")(x))
    outputs = keras.layers.Dense(CLASSES, name="logits")(x)
    return compiled(keras.Model(inputs, outputs, name="cnn"), optimizer="adam")


class Block(keras.layers.Layer):  # type: ignore[misc]
    """One transformer block."""

    def __init__(self, width: int, **options: Any) -> None:
        super().__init__(**options)
        self.norm = keras.layers.LayerNormalization(name="norm")
        self.attention = keras.layers.MultiHeadAttention(2, width // 2, name="attention")
        self.up = keras.layers.Dense(2 * width, activation="gelu", name="up")
        self.down = keras.layers.Dense(width, name="down")

    def call(self, x: Any) -> Any:
        normal = self.norm(x)
        x = x + self.attention(normal, normal)
        return x + self.down(self.up(x))


def transformer(width: int = 8, length: int = 5, words: int = 11) -> keras.Model:
    """Two blocks over an embedding, trained with Adam to name the class of a sequence."""
    keras.utils.set_random_seed(0)
    inputs = keras.layers.Input((length,), dtype="int32")
    x = keras.layers.Embedding(words, width, name="embedding")(inputs)
    for index in range(2):
        x = Block(width, name=f"block{index}")(x)
    outputs = keras.layers.Dense(CLASSES, name="logits")(keras.layers.GlobalAveragePooling1D(name="mean")(x))
    return compiled(keras.Model(inputs, outputs, name="transformer"), optimizer="adam")


def compiled(model: keras.Model, optimizer: Any = "sgd", **options: Any) -> keras.Model:
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(optimizer, loss, **{"jit_compile": False, **options})
    return model


def weights_of(model: keras.Model) -> list[bytes]:
    """Every variable of a model and its optimizer, bit by bit."""
    variables = [*model.variables, *model.optimizer.variables]
    return [tf.convert_to_tensor(variable).numpy().tobytes() for variable in variables]
