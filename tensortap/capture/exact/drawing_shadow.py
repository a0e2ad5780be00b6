"""The shadow copy of a function with stateful random ops.

A copy of such an op draws other numbers. So the step runs first, with taps only on its random numbers, which
the shadow copy then gets.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, Protocol

import tensorflow as tf

from tensortap.dump.recording.recording import Argument
from tensortap.tf import internals
from tensortap.tf.random_ops import RANDOM_OPS

from ..instrument.tapped_function import InstrumentedFunction, Receiver, TapFailedError, TapValues
from ..tracing.traced_function import Place, TracedRoot
from .iterator_copy import array_iterator
from .random_draws import DrawsAsArguments, RandomDrawValues, UnrecordableError
from .shadow import NoShadowError, ShadowFailedError, state_copy


class DrawReceiver(Receiver, Protocol):
    """Receives the shadow's tensors, and separately the step's random draws."""

    def take_draws(self, values: TapValues) -> None: ...


def draws_randomly(traced: TracedRoot) -> bool:
    """Whether a function draws random numbers with ops that have their own streams, seeded or not."""
    definitions = [function.definition for function in traced.functions.values()]
    return any(node.op in RANDOM_OPS for definition in definitions for node in definition.node_def)


class DeterministicFunction:
    """A function that takes its random numbers as arguments.

    Attributes:
        read: tensors that taps must deliver of the step, and the node that draws each.
        traced: the function with more arguments, not registered.

    Raises:
        NoShadowError: it draws in a function that XLA compiles, where a tap may change the step.
    """

    def __init__(self, traced: TracedRoot) -> None:
        try:
            given = DrawsAsArguments(traced.root, traced.functions)
        except UnrecordableError as error:
            raise NoShadowError(str(error)) from error
        compiled = given.compiled_draws()
        if compiled:
            what = "XLA compiles a function that draws random numbers"
            raise NoShadowError(f"{what} (node {compiled[0]!r})")
        self._original, self._draws = traced, given.draws
        self.read: Mapping[Place, str] = given.read
        functions = {
            definition.signature.name: traced.functions[definition.signature.name].with_definition(
                definition, given.moved[definition.signature.name]
            )
            for definition in given.definitions
        }
        self.traced = replace(traced, functions=functions)

    def values(self) -> RandomDrawValues:
        """Collects the draws of one call."""
        return RandomDrawValues(self._original, self._draws)


class DrawingShadow:
    """A function's shadow that runs after the step.

    Args:
        step: the copy that makes every step, with taps on `given.read`.
        tapped: the copy of `given.traced` that is captured.

    Raises:
        NoShadowError: the function has state that cannot be copied, or effects that would come twice.
    """

    def __init__(
        self,
        traced: TracedRoot,
        given: DeterministicFunction,
        step: InstrumentedFunction,
        tapped: InstrumentedFunction,
    ) -> None:
        self._state = state_copy(traced, RANDOM_OPS)
        self._given, self._step, self._tapped = given, step, tapped
        self._lock = threading.Lock()

    def call(
        self,
        run: internals.CallFunction,
        name: bytes,
        inputs: Sequence[Any],
        num_outputs: int,
        receiver: DrawReceiver,
    ) -> Any:
        """Runs the step, then the shadow, which delivers its captured tensors.

        Returns:
            The results of the step.

        Raises:
            The exceptions of the step, after the shadow's tensors are delivered. `TapFailedError` if it
            failed for its taps, `ShadowFailedError` if only the shadow failed; that holds the results of the
            step.
        """
        with self._lock:
            try:
                try:
                    with internals.not_recorded():
                        shadow, real = self._state.inputs(inputs, step_first=True)
                except Exception as error:
                    raise ShadowFailedError(self._step.call_untapped(run, inputs, num_outputs)) from error
                drawn = _DrawCollector(self._given.values(), receiver)
                try:
                    outputs = self._step.call(run, name, real, num_outputs, drawn)
                except TapFailedError:
                    raise
                except Exception:
                    with suppress(Exception):
                        self._run_shadow(run, name, shadow, num_outputs, drawn, receiver)
                    raise
                try:
                    self._run_shadow(run, name, shadow, num_outputs, drawn, receiver)
                except Exception as error:
                    cause = error.__cause__ if isinstance(error, TapFailedError) else error
                    raise ShadowFailedError(outputs) from cause
                return outputs
            finally:
                self._state.release()

    def _run_shadow(
        self,
        run: internals.CallFunction,
        name: bytes,
        inputs: list[Any],
        num_outputs: int,
        drawn: _DrawCollector,
        receiver: Receiver,
    ) -> None:
        self._state.detach()
        if drawn.failure is not None:
            raise drawn.failure
        with internals.not_recorded():
            arguments = list(drawn.values.arguments())
            iterators = {at: _iterator(each) for at, each in enumerate(arguments) if each.kind == "iterator"}
            given = [
                internals.iterator_handle(iterators[at]) if at in iterators else tf.constant(each.arrays[0])
                for at, each in enumerate(arguments)
            ]
            self._tapped.call(run, name, [*inputs, *given], num_outputs, receiver)


class _DrawCollector:
    """Receives the random numbers of the step, for the shadow and for recordings."""

    visits = None  # all iterations of a loop

    def __init__(self, values: RandomDrawValues, receiver: DrawReceiver) -> None:
        self.values = values
        self.failure: Exception | None = None
        self._receiver = receiver

    def take(self, values: TapValues) -> None:
        self.values.take(values)
        self._receiver.take_draws(values)

    def failed(self, error: Exception) -> None:
        self.failure = error
        self._receiver.failed(error)


def _iterator(argument: Argument) -> Any:
    signature = tuple(
        tf.TensorSpec(tf.TensorShape(part.shape), tf.as_dtype(part.dtype)) for part in argument.parts
    )
    width = max(len(signature), 1)
    elements = [argument.arrays[at : at + width] for at in range(0, len(argument.arrays), width)]
    return array_iterator(elements, signature)
