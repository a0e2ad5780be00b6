"""`tap.function` and `tap.saved_model`: functions, and signatures of SavedModels, with calls as steps."""

from __future__ import annotations

import functools
import itertools
import os
import weakref
from collections.abc import Callable, Iterator, Mapping
from types import MethodType
from typing import Any

import tensorflow as tf

from tensortap.tf import internals

from ..errors import WatchError
from ..tap_steps import TapSteps


class TappedFunction:
    """Calls a `tf.function` and counts its steps. All other attributes are those of the `tf.function`.

    It says that it is of the `tf.function`'s class, so that TensorFlow saves it as such: as an attribute of a
    module and as a signature.

    Args:
        numbers: of its steps; from 0 by default.
    """

    def __init__(
        self,
        steps: TapSteps,
        function: Callable[..., Any],
        options: dict[str, Any],
        numbers: Iterator[int] | None = None,
    ) -> None:
        if not callable(function):
            raise WatchError(f"{function!r} is not a function.", "Use tap.function(f), or @tap.function.")
        self._steps = steps
        self._function: Any = function if _is_traced(function) else tf.function(function, **options)
        self._numbers = itertools.count() if numbers is None else numbers
        self._bound: weakref.WeakKeyDictionary[Any, TappedFunction] = weakref.WeakKeyDictionary()
        functools.update_wrapper(self, function, updated=())

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if internals.traced_dataset_function():
            self._warn_of_dataset(str(getattr(self, "__name__", "of a dataset")))
        if not internals.executing_eagerly() or self._steps.closed or self._steps.current is not None:
            return self._function(*args, **kwargs)
        source = next((given for given in args if isinstance(given, tf.data.Iterator)), None)
        with self._steps.step(next(self._numbers), 1, source):
            return self._function(*args, **kwargs)

    def _warn_of_dataset(self, name: str) -> None:
        self._steps.warn(
            f"dataset {name}",
            f"the function {name} is not captured: it runs in the threads of a tf.data pipeline",
            "Call tf.data.experimental.enable_debug_mode() to run pipelines in Python; each "
            "element is then a step.",
        )

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        """A method of `instance`; all instances share one count of steps."""
        if instance is None:
            return self
        bind = getattr(self._function, "__get__", None)
        method = None if bind is None else bind(instance, owner)
        if method is None or isinstance(method, MethodType):  # of a composite tensor: it is an argument
            return functools.partial(self, instance)
        if instance not in self._bound:  # TensorFlow caches one, too, because saving compares by identity
            self._bound[instance] = TappedFunction(self._steps, method, {}, self._numbers)
        return self._bound[instance]

    def __getattr__(self, name: str) -> Any:
        if name == "_function":  # requested before it exists, e.g. by copy.copy
            raise AttributeError(name)
        return getattr(self._function, name)

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return type(self._function)

    def _clone(self, python_function: Callable[..., Any]) -> TappedFunction:
        """The function that a distribution strategy runs instead: the same for all replicas."""
        return TappedFunction(self._steps, self._function._clone(python_function), {}, self._numbers)


def _is_traced(function: Any) -> bool:
    """Whether it is a tf.function or a concrete function already."""
    return hasattr(function, "get_concrete_function") or hasattr(function, "structured_outputs")


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
        if name == "model":  # requested before it exists, e.g. by copy.copy
            raise AttributeError(name)
        return getattr(self.model, name)


def tap_model(steps: TapSteps, model: Any) -> TappedModel:
    """Taps every signature of a SavedModel; loads it if `model` is its directory."""
    if isinstance(model, str | os.PathLike):
        model = tf.saved_model.load(os.fspath(model))
    signatures = {name: TappedFunction(steps, signature, {}) for name, signature in model.signatures.items()}
    return TappedModel(model, TappedSignatures(signatures))
