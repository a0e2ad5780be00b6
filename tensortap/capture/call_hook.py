"""The hook through which all traced functions run; runs tapped copies of them on watched steps."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any

from tensortap.core.records import CaptureMode
from tensortap.tf import internals

from .capture_warnings import first_line
from .exact.shadow import Shadow, ShadowFailedError
from .exact.variable_snapshot import VariableSnapshot
from .function_copies import FunctionCopies, WatchedCall
from .instrument.receivers import CallReceiver, PendingRecording, StepReceiver
from .instrument.tapped_function import InstrumentedFunction, TapFailedError
from .tracing.context_stack import TaskStack
from .tracing.layer_tracker import LayerTracker


class _BatchConsumedError(Exception):
    """A call failed because of its taps, and would draw another batch if it ran again without them. The cause
    has the reason."""


class _Pause:
    """A pause: what runs in it is not captured."""


_STEPS: TaskStack[StepReceiver | _Pause] = TaskStack("tensortap steps")
_PAUSE = _Pause()


class CallHook:
    """Installed while any tap is in use. Calls outside a watched step pass through unchanged."""

    def __init__(self) -> None:
        self.tracker = LayerTracker()
        self._lock = threading.RLock()
        self._copies = FunctionCopies(self.tracker, self._lock)
        self._users = 0
        self._uninstall: Any = None

    def acquire(self) -> None:
        """Installs the interceptor for one more user."""
        with self._lock:
            self._users += 1
            if self._users == 1:
                self.tracker.install()
                self._copies.begin()
                if self._uninstall is None:
                    self._uninstall = internals.install_call_hook(self._on_call)

    def release(self) -> None:
        """Undoes one `acquire`. The last one restores TensorFlow and drops all copies, except those with the
        random streams that a function continues to use."""
        with self._lock:
            self._users -= 1
            if self._users == 0:
                self.tracker.uninstall()
                if not self._copies.end():
                    self._uninstall()
                    self._uninstall = None

    def inside(self, step: StepReceiver) -> AbstractContextManager[None]:
        """The calls that this thread, or task, makes in the body belong to a step.

        Steps of other owners continue, an outer step of the same owner pauses.
        """
        return _STEPS.inside(step)

    def step_of(self, owner: object) -> StepReceiver | None:
        """The innermost step of that owner which this thread, or task, is in."""
        for step in _STEPS:
            if not isinstance(step, _Pause) and step.owner is owner:
                return step
        return None

    def _steps(self) -> tuple[StepReceiver, ...]:
        """The innermost step of each owner, outer ones first."""
        found: dict[int, StepReceiver] = {}
        for step in _STEPS:
            if isinstance(step, _Pause):
                break
            found.setdefault(id(step.owner), step)
        return tuple(reversed(found.values()))

    def _on_call(
        self, run: internals.CallFunction, name: bytes, inputs: Sequence[Any], num_outputs: int
    ) -> Any:
        around = self._steps()
        function = name.decode() if isinstance(name, bytes) else name
        permanent = self._permanent(function, inputs, around)

        def run_untapped(inputs: Sequence[Any]) -> Any:
            if permanent is None:
                return run(name, inputs, num_outputs)
            return self._run_permanent(permanent, function, run, inputs, num_outputs, around)

        steps = tuple(step for step in around if step.active)
        if not steps:
            return run_untapped(inputs)
        pending, given = self._begin_recordings(function, inputs, steps), inputs
        if pending:
            inputs = pending[-1].inputs
        call = WatchedCall(function, run, inputs, num_outputs, steps, pending, permanent, run_untapped)
        try:
            outputs = self._run_tapped(call)
        except _BatchConsumedError as error:
            for recording in pending:
                recording.end(None, error.__cause__)
            return run_untapped(given)
        except BaseException as error:
            for recording in pending:
                recording.end(None, error)
            raise
        for recording in pending:
            recording.end(outputs)
        _note_call(function, given, outputs, steps)
        return outputs

    def _begin_recordings(
        self, function: str, inputs: Sequence[Any], steps: Sequence[StepReceiver]
    ) -> list[PendingRecording]:
        """Begins the recordings; each gets the inputs of the previous one."""
        begun: list[PendingRecording] = []
        recording = [step for step in steps if step.records]
        if not recording:
            return begun
        with _STEPS.inside(_PAUSE), internals.not_recorded():
            try:
                traced = self._copies.traced(function, inputs, steps)
            except Exception as error:
                for step in recording:
                    step.warnings.function_failed(function, "could not be recorded", error)
                return begun
            for step in recording:
                pending = step.begin_recording(traced, inputs)
                if pending is not None:
                    begun.append(pending)
                    inputs = pending.inputs
        return begun

    def _run_tapped(self, call: WatchedCall) -> Any:
        with _STEPS.inside(_PAUSE), internals.not_recorded():
            copy = self._copies.copy_for(call)
        if copy is None:
            return call.run_untapped(call.inputs)
        traced = self._copies.traced(call.function, call.inputs, call.steps)
        way: CaptureMode = "in-place" if isinstance(copy, InstrumentedFunction) else "shadow"
        receiver = CallReceiver(traced, call.steps, way, call.pending)
        untouched = isinstance(copy, Shadow)  # the function itself makes the step
        try:
            with _STEPS.inside(_PAUSE):
                before = None if untouched else self._copies.variables_of(traced).read(call.inputs)
        except Exception as error:
            self._copies.give_up(call, "could not be tapped", error)
            return call.run_untapped(call.inputs)
        receiver.expect_draws(not untouched)
        try:
            return copy.call(call.run, call.function.encode(), call.inputs, call.num_outputs, receiver)
        except ShadowFailedError as failure:
            self._copies.give_up(call, "could not run as a shadow copy", failure.__cause__ or failure)
            return failure.outputs
        except TapFailedError as failure:
            cause = failure.__cause__ or failure
            what = "could not run with taps" + (_undone(before) if before is not None else "")
            self._copies.give_up(call, what, cause)
            receiver.expect_draws(False)
            if before is not None and before.draws:
                raise _BatchConsumedError from cause
            return call.run_untapped(call.inputs)

    def _permanent(
        self, function: str, inputs: Sequence[Any], around: Sequence[StepReceiver]
    ) -> InstrumentedFunction | None:
        decided = self._copies.permanent
        if function in decided:
            return decided[function]
        if not around:
            self._copies.ran_untapped(function)
            return None
        with _STEPS.inside(_PAUSE), internals.not_recorded():
            return self._copies.decide_permanent(function, inputs, around)

    def _run_permanent(
        self,
        permanent: InstrumentedFunction,
        function: str,
        run: internals.CallFunction,
        inputs: Sequence[Any],
        num_outputs: int,
        around: Sequence[StepReceiver],
    ) -> Any:
        try:
            return permanent.call_untapped(run, inputs, num_outputs)
        except TapFailedError as failure:
            cause = failure.__cause__ or failure
            self._copies.drop_permanent(function, "could not run with taps", cause, around)
            return run(function.encode(), inputs, num_outputs)


def _note_call(
    function: str, inputs: Sequence[Any], outputs: Sequence[Any] | None, steps: Sequence[StepReceiver]
) -> None:
    for step in steps:
        step.called(function, inputs, outputs)


def _undone(before: VariableSnapshot) -> str:
    """Undoes the effects of a call, and describes those that remain."""
    try:
        before.restore()
    except Exception as error:  # nothing may escape into the training
        return f"; its variables could not be restored: {first_line(error)}"
    return f"; some effects cannot be undone: {before.stays}" if before.stays else ""


CALL_HOOK = CallHook()
