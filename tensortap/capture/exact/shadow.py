"""Runs a tapped copy beside a step instead of in its place.

The shadow works on copies of the state (`StateCopy`), and the original function makes the step.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import tensorflow as tf

from tensortap.tf import internals

from ..instrument.tapped_function import InstrumentedFunction, Receiver, TapFailedError
from ..tracing.traced_function import TracedRoot
from .iterator_copy import Elements, SharedIterator, UncopiedIteratorError, iterator_elements
from .side_effects import find_side_effect


class NoShadowError(Exception):
    """The function cannot run as a shadow; the message is the reason, a clause: `it draws …`."""


class Shadow:
    """A function's shadow.

    Raises:
        NoShadowError: the function has state that cannot be copied, or effects that would come twice.
    """

    def __init__(self, traced: TracedRoot, tapped: InstrumentedFunction) -> None:
        self._state = state_copy(traced)
        self._tapped = tapped
        self._lock = threading.Lock()

    def call(
        self,
        run: internals.CallFunction,
        name: bytes,
        inputs: Sequence[Any],
        num_outputs: int,
        receiver: Receiver,
    ) -> Any:
        """Runs the shadow, which delivers its captured tensors, and then the original function.

        Returns:
            The results of the original function.

        Raises:
            The original function's own errors. `ShadowFailedError` if only the shadow failed; it has the
            results of the original function.
        """
        failure: BaseException | None = None
        real = list(inputs)
        with self._lock:
            try:
                with internals.not_recorded():
                    shadow, real = self._state.inputs(inputs)
                self._tapped.call(run, name, shadow, num_outputs, receiver)
                del shadow  # frees the copies
            except Exception as error:
                failure = error.__cause__ if isinstance(error, TapFailedError) else error
            try:
                outputs = run(name, real, num_outputs)
            finally:
                self._state.release()
        if failure is not None:
            raise ShadowFailedError(outputs) from failure
        return outputs


class ShadowFailedError(Exception):
    """The shadow failed, but not the step."""

    def __init__(self, outputs: Any) -> None:
        super().__init__()
        self.outputs = outputs


def state_copy(traced: TracedRoot, repeatable: Collection[str] = ()) -> StateCopy:
    """Copies the state of a function's calls.

    Args:
        repeatable: further op types that may run twice.

    Raises:
        NoShadowError: it has state that cannot be copied, or effects that would come twice.
    """
    why = find_side_effect(traced.functions, repeatable)
    if why:
        raise NoShadowError(why)
    try:
        return StateCopy(iterator_elements(traced.functions))
    except UncopiedIteratorError as error:
        raise NoShadowError(f"it draws from an iterator that cannot be copied (node {error})") from error


class StateCopy:
    """Makes the inputs of one call twice: for the shadow, and for the step itself.

    Args:
        elements: the elements of iterator arguments, by argument number.
    """

    def __init__(self, elements: Mapping[int, Elements]) -> None:
        self._iterators = {number: SharedIterator(*each) for number, each in elements.items()}

    def inputs(self, inputs: Sequence[Any], *, step_first: bool = False) -> tuple[list[Any], list[Any]]:
        """(inputs of the shadow, inputs of the step), before any draw or change.

        Both use iterators that share their elements; the step still uses the real variables.

        Args:
            step_first: whether the step runs before the shadow.
        """
        shadow, real = list(inputs), list(inputs)
        copies: dict[int, Any] = {}  # one for a variable that is passed twice
        for number, tensor in enumerate(inputs):
            if number in self._iterators:
                first, second = self._iterators[number].handles(tensor)
                shadow[number], real[number] = (second, first) if step_first else (first, second)
            elif is_variable(tensor):
                key = internals.tensor_id(tensor)
                if key not in copies:
                    copies[key] = _copied_variable(tensor)
                shadow[number] = copies[key]
        return shadow, real

    def detach(self) -> None:
        """The step has finished its draws."""
        for iterator in self._iterators.values():
            iterator.detach()

    def release(self) -> None:
        """Releases the draws of the last call."""
        for iterator in self._iterators.values():
            iterator.release()


def is_variable(tensor: Any) -> bool:
    """Whether an eager tensor is the handle of a variable."""
    return bool(tensor.dtype == tf.resource and internals.resource_type(tensor) == "tensorflow::Var")


def _copied_variable(handle: Any) -> Any:
    """The handle of a new variable of the same dtype, shape, device and value (if it has one yet).

    Raises:
        ValueError: the handle has no dtype or shape.
    """
    data = internals.handle_data(handle)
    if data is None:
        raise ValueError("the dtype or shape of a variable is unknown")
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
