"""What a shadow runs on in place of a function's inputs: copies of variables, iterators of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import tensorflow as tf

from tensortap.tf import internals

from .iterator_copy import Elements, SharedIterator


class StateCopy:
    """Makes the inputs of one call twice: for the shadow, and for the step itself.

    Args:
        elements: for arguments that are iterators, by number: what they yield.
    """

    def __init__(self, elements: Mapping[int, Elements]) -> None:
        self._iterators = {number: SharedIterator(*each) for number, each in elements.items()}

    def inputs(self, inputs: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """(inputs of the shadow, inputs of the step). Nothing has been drawn or changed yet.

        Both run on iterators that share what they draw; the step still runs on the real variables.
        """
        shadow, real = list(inputs), list(inputs)
        copies: dict[int, Any] = {}  # one for a variable that is passed twice
        for number, tensor in enumerate(inputs):
            if number in self._iterators:
                shadow[number], real[number] = self._iterators[number].handles(tensor)
            elif is_variable(tensor):
                key = internals.tensor_id(tensor)
                if key not in copies:
                    copies[key] = _copied_variable(tensor)
                shadow[number] = copies[key]
        return shadow, real

    def release(self) -> None:
        """Lets go of what the last call drew."""
        for iterator in self._iterators.values():
            iterator.release()


def is_variable(tensor: Any) -> bool:
    """Whether an eager tensor is the handle of a variable."""
    return bool(tensor.dtype == tf.resource and internals.resource_type(tensor) == "tensorflow::Var")


def _copied_variable(handle: Any) -> Any:
    """The handle of a new variable of the same dtype, shape, device and value (if it has one yet).

    Raises:
        ValueError: the handle does not tell dtype and shape.
    """
    data = internals.handle_data(handle)
    if data is None:
        raise ValueError("a variable does not tell its dtype and shape")
    (held,) = data.shape_and_type
    with tf.device(handle.device):
        copy = tf.raw_ops.VarHandleOp(
            dtype=held.dtype, shape=held.shape, shared_name=internals.anonymous_name()
        )
        if tf.raw_ops.VarIsInitializedOp(resource=handle):
            # Both share one buffer until one of them is updated.
            value = tf.raw_ops.ReadVariableOp(resource=handle, dtype=held.dtype)
            tf.raw_ops.AssignVariableOp(resource=copy, value=value)
    return copy
