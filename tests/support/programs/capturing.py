"""How a program of this folder is captured, and the data that they share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from tensortap.capture.tap import Tap

Results = dict[str, Any]
"""Losses, weights and whatever else shows a change of training; nested, of arrays, tensors and numbers."""


class Capture:
    """Captures what a program trains, or nothing: the same lines of a program run both ways."""

    def __init__(self, tap: Tap | None = None) -> None:
        self._tap = tap

    @property
    def callbacks(self) -> list[keras.callbacks.Callback]:
        """For Keras' `fit`, `evaluate` and `predict`."""
        return [] if self._tap is None else [self._tap.callback()]

    def step(self) -> AbstractContextManager[Any]:
        """Around one step of a training loop."""
        return nullcontext() if self._tap is None else self._tap.step()

    @contextmanager
    def eager_step(self) -> Iterator[None]:
        """Around one step of a loop that runs op by op."""
        with self.step(), nullcontext() if self._tap is None else self._tap.eager():
            yield

    def session(self, session: Any) -> Any:
        """Instead of a session."""
        return session if self._tap is None else self._tap.session(session)


Program = Callable[[Capture], Results]


def floats(*shape: int, seed: int = 1) -> np.ndarray[Any, Any]:
    """Normal numbers, always the same."""
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def integers(high: int, *shape: int, seed: int = 2) -> np.ndarray[Any, Any]:
    """Whole numbers below `high`, always the same."""
    return np.random.default_rng(seed).integers(0, high, shape).astype(np.int32)


def fit(capture: Capture, model: keras.Model, *data: Any, **options: Any) -> Results:
    """Trains a compiled model, and returns losses, weights and the optimizer's state."""
    options = {"batch_size": 8, "verbose": 0, **options}
    history = model.fit(*data, callbacks=capture.callbacks, **options)
    return {"history": history.history, **state(model)}


def state(*tracked: Any) -> Results:
    """Weights of models, and the variables of their optimizers or of optimizers themselves."""
    results: Results = {}
    for number, each in enumerate(tracked):
        variables = each.variables
        if isinstance(each, keras.Model) and getattr(each, "optimizer", None) is not None:
            variables = [*variables, *each.optimizer.variables]
        results[f"state {number}"] = [np.asarray(variable) for variable in variables]
    return results


def batches(*arrays: np.ndarray[Any, Any], size: int = 8) -> Iterator[tuple[np.ndarray[Any, Any], ...]]:
    """Batches of rows."""
    for start in range(0, len(arrays[0]), size):
        yield tuple(array[start : start + size] for array in arrays)


def each_step(capture: Capture, train: Any, *data: Any) -> list[Any]:
    """What a training step of one's own returns for each batch."""
    results = []
    for batch in batches(*data):
        with capture.step():
            results.append(train(*map(tf.constant, batch)))
    return results
