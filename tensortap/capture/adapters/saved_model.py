"""`tap.saved_model()`: signatures whose calls are steps."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

import tensorflow as tf

from ..tap_steps import TapSteps
from .tf_function import TappedFunction


class TappedSignatures(Mapping[str, TappedFunction]):
    """The signatures of a SavedModel by name."""

    def __init__(self, signatures: dict[str, TappedFunction]) -> None:
        self._signatures = signatures

    def __getitem__(self, name: str) -> TappedFunction:
        return self._signatures[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._signatures)

    def __len__(self) -> int:
        return len(self._signatures)

    def __repr__(self) -> str:
        return f"TappedSignatures({list(self)})"


class TappedModel:
    """A SavedModel with tapped `signatures`. For all else the untapped `model` itself answers."""

    def __init__(self, model: Any, signatures: TappedSignatures) -> None:
        self.model = model
        self.signatures = signatures

    def __getattr__(self, name: str) -> Any:
        if name == "model":  # asked for before it is there, e.g. by copy.copy
            raise AttributeError(name)
        return getattr(self.model, name)


def tap_model(steps: TapSteps, model: Any) -> TappedModel:
    """Taps every signature of a SavedModel, which is loaded if `model` is its directory."""
    if isinstance(model, str | os.PathLike):
        model = tf.saved_model.load(os.fspath(model))
    signatures = {name: TappedFunction(steps, signature, {}) for name, signature in model.signatures.items()}
    return TappedModel(model, TappedSignatures(signatures))
