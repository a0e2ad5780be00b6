"""Records calls of traced functions: their inputs before, hashes of their results after."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import tensorflow as tf

from tensortap.core.dtypes import Array
from tensortap.dump.recording.recording import (
    Argument,
    Part,
    Recording,
    array_hash,
)
from tensortap.tf import internals
from tensortap.tf.op_allowlist import refused
from tensortap.tf.random_ops import RANDOM_OPS
from tensortap.tf.shapes import static_shape

from ..exact.iterator_copy import Elements, SharedIterator, UncopiedIteratorError, iterator_elements
from ..exact.random_draws import DrawsAsArguments, RandomDrawValues, UnrecordableError
from ..exact.shadow import is_variable
from ..exact.side_effects import MUTED, find_side_effect
from ..exact.variable_snapshot import has_value
from ..instrument.added_nodes import mute
from ..instrument.tapped_function import TapValues
from ..run_info import environment
from ..tracing.traced_function import Place, TracedRoot
from ..triggers.firing import failure_facts


@dataclass(frozen=True, eq=False)
class RecordedCall:
    """A recorded call; the writer thread computes its hashes (`finished`).

    `results` are the returned tensors, `variables` the values after the call by number of their argument.
    """

    recording: Recording
    results: tuple[Array, ...]
    variables: Mapping[int, Array]

    def finished(self) -> Recording:
        """The recording with its hashes."""
        return replace(
            self.recording,
            output_hashes=tuple(map(array_hash, self.results)),
            variable_hashes={number: array_hash(value) for number, value in self.variables.items()},
        )


class CallRecorder:
    """Records calls of one function.

    Raises:
        UnrecordableError: it has state or effects that a file cannot hold.
    """

    def __init__(self, traced: TracedRoot) -> None:
        why = find_side_effect(traced.functions, RANDOM_OPS)
        if why:
            raise UnrecordableError(why)
        try:
            self._iterators = {
                number: (elements, SharedIterator(*elements))
                for number, elements in iterator_elements(traced.functions).items()
            }
        except UncopiedIteratorError as error:
            raise UnrecordableError(
                f"it draws from an iterator that cannot be read (node {error})"
            ) from error
        self._traced = traced
        given = DrawsAsArguments(traced.root, traced.functions)
        definitions = given.definitions  # copies
        for definition in definitions:
            mute(definition, MUTED)
        why = refused(definitions)
        if why:
            raise UnrecordableError(f"it contains {why}, which cannot be replayed from a file")
        self._library = internals.library(definitions)
        self._given = given

    def begin(self, inputs: Sequence[Any]) -> PendingCall:
        """Records the inputs of a call.

        Raises:
            UnrecordableError: an input cannot be recorded.
        """
        with internals.not_recorded():
            arguments, passed = self._before(inputs)
        return PendingCall(self, arguments, list(inputs), passed)

    def _before(self, inputs: Sequence[Any]) -> tuple[list[Argument], list[Any]]:
        arguments, passed = [], list(inputs)
        names = list(self._traced.functions[self._traced.root].arguments)
        variables = self._traced.functions[self._traced.root].variables
        for number, (name, tensor) in enumerate(zip(names, inputs, strict=True)):
            if number in self._iterators:
                elements, shared = self._iterators[number]
                passed[number], _ = shared.handles(tensor)
                arguments.append(Argument("iterator", name, parts=_parts(elements)))
            elif is_variable(tensor):
                arguments.append(_variable(variables.get(name, name), tensor))
            elif tensor.dtype in (tf.resource, tf.variant):
                kind = internals.resource_type(tensor) or tensor.dtype.name
                raise UnrecordableError(f"it takes a {kind} (argument {name!r})")
            else:
                array = internals.as_array(tensor)
                arguments.append(Argument("tensor", name, (array,), device=tensor.device))
        return arguments, passed

    @property
    def draws(self) -> Mapping[Place, str]:
        """Tensors that taps must deliver, as random ops drew them; and the node that drew each."""
        return self._given.read

    def drawn_values(self) -> RandomDrawValues:
        """Collects these of one call."""
        return RandomDrawValues(self._traced, self._given.draws)

    def drawn(self) -> dict[int, tuple[Array, ...]]:
        """Take the draws of the call, by number of the iterator's argument."""
        found = {}
        for number, (_, shared) in self._iterators.items():
            found[number] = tuple(array for element in shared.drawn for array in element)
            shared.release()
        return found

    def recording(self, arguments: Sequence[Argument]) -> Recording:
        """The recording of the call, still without step and results."""
        return Recording(self._traced.root, self._library, tuple(arguments), 0, versions=_versions())


class PendingCall:
    """A call that is about to run with `inputs`, or runs."""

    def __init__(
        self, recorder: CallRecorder, arguments: list[Argument], given: list[Any], inputs: list[Any]
    ) -> None:
        self._recorder, self._arguments, self._given = recorder, arguments, given
        self._started = time.time()
        self._drawn = recorder.drawn_values()
        self._sees_draws = not recorder.draws
        self.inputs = inputs

    @property
    def draws(self) -> Mapping[Place, str]:
        """See `CallRecorder.draws`."""
        return self._recorder.draws

    def expect_draws(self, tapped: bool) -> None:
        """Whether the call that runs now has taps that deliver them."""
        self._sees_draws = tapped or not self.draws

    def take(self, values: TapValues) -> None:
        """Take the tapped values of the call."""
        self._drawn.take(values)

    def end(self, outputs: Sequence[Any] | None, failure: BaseException | None = None) -> RecordedCall | None:
        """Returns the recording. None if the data had ended, or if the only inputs were uninitialized
        variables, which the call initializes, as optimizers do before the first step.

        Raises:
            UnrecordableError: it is unknown what random numbers it drew.
        """
        with internals.not_recorded():
            drawn = self._recorder.drawn()
            if isinstance(failure, tf.errors.OutOfRangeError) and not any(drawn.values()):
                return None
            if failure is None and self._arguments and all(map(_is_unset, self._arguments)):
                return None
            for number, arrays in drawn.items():
                self._arguments[number] = replace(self._arguments[number], arrays=arrays)
            if not self._sees_draws:
                raise UnrecordableError("its random numbers could not be tapped")
            recording = replace(
                self._recorder.recording([*self._arguments, *self._drawn.arguments()]),
                time=self._started,
                failed="" if failure is None else failure_facts(failure)["error"],
            )
            return RecordedCall(recording, results_of(outputs or ()), self._variables())

    def _variables(self) -> dict[int, Array]:
        return {
            number: _read(handle)
            for number, (argument, handle) in enumerate(zip(self._arguments, self._given, strict=True))
            if argument.kind == "variable" and has_value(handle)
        }


def _is_unset(argument: Argument) -> bool:
    return argument.kind == "variable" and not argument.arrays


def _versions() -> dict[str, str]:
    facts = environment()
    return {key: str(facts[key]) for key in ("python", "tensorflow", "keras", "numpy", "system")}


def _parts(elements: Elements) -> tuple[Part, ...]:
    dtypes, shapes = elements
    return tuple(Part(dtype.name, static_shape(shape)) for dtype, shape in zip(dtypes, shapes, strict=True))


def _variable(path: str, handle: Any) -> Argument:
    held = _held(handle)
    return Argument(
        "variable",
        path,
        (_read(handle),) if has_value(handle) else (),
        dtype=tf.as_dtype(held.dtype).name,
        shape=static_shape(tf.TensorShape(held.shape)),
        device=handle.device,
    )


def _held(handle: Any) -> Any:
    """dtype and shape of the variable behind a handle."""
    data = internals.handle_data(handle)
    if data is None:
        raise UnrecordableError("it takes a variable of unknown dtype")
    return data.shape_and_type[0]


def _read(handle: Any) -> Array:
    """The variable's value; shares the buffer until the variable is updated, which copies it then."""
    with tf.device(handle.device):
        return internals.as_array(tf.raw_ops.ReadVariableOp(resource=handle, dtype=_held(handle).dtype))


def results_of(outputs: Sequence[Any]) -> tuple[Array, ...]:
    """The tensors that a call returned, without resources."""
    held = (tensor for tensor in outputs if tensor.dtype not in (tf.resource, tf.variant))
    return tuple(map(internals.as_array, held))
