"""Capturing layer outputs, gradients and weights leaves every bit of the training as it was."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf
from small_models import BATCH, CLASSES, cnn, transformer, weights_of

from tensortap.capture import Tap, Watch

STEPS = 12
MERGING_OFF = {"arithmetic_optimization": False, "constant_folding": False}


def images() -> np.ndarray[Any, Any]:
    return np.random.default_rng(2).standard_normal((STEPS * BATCH, 8, 8, 2)).astype(np.float32)


def sentences() -> np.ndarray[Any, Any]:
    return np.random.default_rng(2).integers(0, 11, (STEPS * BATCH, 5)).astype(np.int32)


@pytest.mark.parametrize(
    ("make", "inputs"), [(cnn, images), (transformer, sentences)], ids=["cnn", "transformer"]
)
def test_weights_are_bit_identical(
    tmp_path: Path, make: Callable[[], keras.Model], inputs: Callable[[], np.ndarray[Any, Any]]
) -> None:
    x = inputs()
    y = np.random.default_rng(3).integers(0, CLASSES, len(x))
    watch = Watch(kinds=["output", "gradient", "weight"], steps=1)

    def trained(*callbacks: keras.callbacks.Callback) -> list[bytes]:
        model = make()
        model.fit(x, y, batch_size=BATCH, verbose=0, callbacks=list(callbacks))
        return weights_of(model)

    assert trained(Tap(tmp_path / "r", watch).callback()) == trained()
    assert (tmp_path / "r").exists()


def test_everything_is_bit_identical_without_the_optimizers_that_merge(tmp_path: Path) -> None:
    x = sentences()
    y = np.random.default_rng(3).integers(0, CLASSES, len(x))
    before = tf.config.optimizer.get_experimental_options()
    tf.config.optimizer.set_experimental_options(MERGING_OFF)
    try:
        weights = []
        for callbacks in ([], [Tap(tmp_path / "r", Watch(steps=2)).callback()]):
            model = transformer()
            model.fit(x, y, batch_size=BATCH, verbose=0, callbacks=callbacks)
            weights.append(weights_of(model))
        assert weights[0] == weights[1]
    finally:
        tf.config.optimizer.set_experimental_options({**dict.fromkeys(MERGING_OFF, True), **before})
