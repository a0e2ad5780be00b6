"""`tap.function`: a tf.function whose calls are steps."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import tensorflow as tf

from . import tf_private
from .errors import WatchError

if TYPE_CHECKING:
    from .tap import Tap


class TappedFunction:
    """Calls a `tf.function` and counts its steps. Whatever else is asked of it, the `tf.function` answers."""

    def __init__(self, tap: Tap, function: Callable[..., Any], options: dict[str, Any]) -> None:
        if not callable(function):
            raise WatchError(f"{function!r} is no function.", "Use tap.function(f), or @tap.function.")
        self._tap = tap
        self._function = function if _is_traced(function) else tf.function(function, **options)
        self._next_step = 0
        functools.update_wrapper(self, function, updated=())

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if tf_private.traced_dataset_function():
            self._tell_dataset(str(getattr(self, "__name__", "of a dataset")))
        if not tf_private.executing_eagerly() or self._tap.in_step or self._tap.closed:
            return self._function(*args, **kwargs)
        step = self._next_step
        self._next_step += 1
        source = next((given for given in args if isinstance(given, tf.data.Iterator)), None)
        with self._tap._steps(step, 1, source):
            return self._function(*args, **kwargs)

    def _tell_dataset(self, name: str) -> None:
        self._tap._outlet.trouble.tell(
            f"dataset {name}",
            f"the function {name} is not captured, because a tf.data pipeline runs it, in threads of its own",
            "After tf.data.experimental.enable_debug_mode() pipelines run in Python, and each element is a"
            " step of the function.",
        )

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        """A method of `instance`; all instances share one count of steps."""
        return self if instance is None else functools.partial(self, instance)

    def __getattr__(self, name: str) -> Any:
        if name == "_function":  # asked for before it is there, e.g. by copy.copy
            raise AttributeError(name)
        return getattr(self._function, name)


def _is_traced(function: Any) -> bool:
    """Whether it is a tf.function or a concrete function already."""
    return hasattr(function, "get_concrete_function") or hasattr(function, "structured_outputs")
