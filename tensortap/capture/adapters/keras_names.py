"""What of Keras capture relies on without being promised it: looked for when a tap is made."""

from __future__ import annotations

from collections.abc import Iterator

import keras

from ..warnings_once import Trouble

# What is missed in a run, if one of these (owner in `keras`, names separated by spaces) is not there.
_RELIED_ON = {
    "batches of fit": ("Model", "make_train_function"),  # it sets `train_function`
    "batches of evaluate": ("Model", "make_test_function"),
    "batches of predict": ("Model", "make_predict_function"),
    "layers and their outputs": ("layers.Layer", "__call__"),
    "layers of functions that were traced before": ("layers.Layer", "_flatten_layers"),
    "gradients and updates by optimizers": ("optimizers.Optimizer", "apply"),
    "weights by their names": ("Variable", "assign value path"),
}


def tell_missing(trouble: Trouble) -> None:
    """Warns of what is not captured with this version of Keras, if there is anything."""
    missing = dict(_missing())
    if missing:
        trouble.tell(
            "keras",
            f"with Keras {keras.__version__} {', '.join(missing.values())} are not captured, as it has no"
            f" {', '.join(missing)}",
            "Training goes on. Install another version of Keras, or one of tensortap that knows this one.",
        )


def _missing() -> Iterator[tuple[str, str]]:
    """(name that is missing, what is not captured)"""
    if keras.backend.backend() != "tensorflow":
        return  # `TapCallback` tells that nothing is captured
    for what, (path, names) in _RELIED_ON.items():
        owner: object = keras
        for part in path.split("."):
            owner = getattr(owner, part, None)
        for name in names.split():
            if not hasattr(owner, name):
                yield f"keras.{path}.{name}", what
                break
