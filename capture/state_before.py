"""What variables held before a call, so that it can be made again as if it had not been made."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import tensorflow as tf

from . import tf_private
from .closure import TracedFunction
from .obstacles import changes_variables, obstacle
from .recorded import RecordedFunction


class StateBefore:
    """The values of the variables that a call is given.

    A value shares its variable's memory until the call changes the variable; then TensorFlow copies it. Of
    functions that change no variable nothing is held.
    """

    def __init__(self, recorded: RecordedFunction, inputs: Sequence[Any]) -> None:
        self._functions = recorded.functions
        self._values: list[tuple[Any, Any]] = []
        if changes_variables(recorded.functions):
            with tf_private.not_recorded():
                self._values = list(_values(recorded.functions[recorded.root], inputs))

    def put_back(self) -> None:
        """Gives the variables these values again."""
        with tf_private.not_recorded():
            for handle, value in self._values:
                tf.raw_ops.AssignVariableOp(resource=handle, value=value)

    @property
    def stays(self) -> str:
        """What of the call is not undone by this: `it changes a lookup table (node …)`; or empty."""
        return obstacle(self._functions)


def _values(function: TracedFunction, inputs: Sequence[Any]) -> Iterator[tuple[Any, Any]]:
    dtypes = _variable_dtypes(function)
    for name, handle in zip(function.arguments, inputs, strict=False):
        if name in dtypes:
            try:
                yield handle, tf.raw_ops.ReadVariableOp(resource=handle, dtype=dtypes[name])
            except tf.errors.FailedPreconditionError:
                continue  # it has no value yet


def _variable_dtypes(function: TracedFunction) -> Mapping[str, Any]:
    """Argument name -> dtype of the variable behind it."""
    return {
        name: handle.shape_and_type[0].dtype
        for name, handle in function.handles.items()
        if handle.is_set and len(handle.shape_and_type) == 1
    }
