"""Runs a tapped copy beside a step instead of in its place: the shadow works on copies of the state, and the
untouched function makes the step."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

from tensortap.tf import internals

from ..instrument.tapped_function import InstrumentedFunction, Receiver, TapFailedError
from ..tracing.traced_function import TracedRoot
from .iterator_copy import UncopiedIteratorError, iterator_elements
from .side_effects import obstacle
from .state_copy import StateCopy


class NoShadowError(Exception):
    """The function cannot be run as a shadow; the message says why, as `it …`."""


class Shadow:
    """A function's shadow.

    Raises:
        NoShadowError: the function has state that cannot be copied, or effects that would come twice.
    """

    def __init__(self, traced: TracedRoot, tapped: InstrumentedFunction) -> None:
        why = obstacle(traced.functions)
        if why:
            raise NoShadowError(why)
        try:
            self._state = StateCopy(iterator_elements(traced.functions))
        except UncopiedIteratorError as error:
            raise NoShadowError(f"it draws from an iterator that cannot be copied (node {error})") from error
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
        """Runs the shadow, which delivers what it catches, and then the untouched function.

        Returns:
            What the untouched function returns.

        Raises:
            Whatever the untouched function raises. `ShadowFailedError` if only the shadow failed; it holds
            what the untouched function returned.
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
