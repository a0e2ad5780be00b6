"""Receivers of the tensors of a call: the watched steps of taps, and recordings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from tensortap.core.records import CaptureMode

from ..capture_warnings import CaptureWarnings
from ..tracing.traced_function import Place, TracedRoot
from ..watching.watch import Watch
from .tapped_function import Receiver, TapValues


class PendingRecording(Protocol):
    """A call being recorded. None of its methods raises."""

    @property
    def inputs(self) -> Sequence[Any]:
        """Inputs to call the function with, so that the recording sees its draws."""

    @property
    def draws(self) -> Mapping[Place, str]:
        """Tensors that taps must deliver even if the call fails, i.e. the draws of random ops with their own
        streams; and their nodes."""

    def expect_draws(self, tapped: bool) -> None:
        """Whether the call that runs now has taps that deliver them."""

    def take(self, values: TapValues) -> None:
        """Take the tapped values of the call; the draws are among them."""

    def end(self, outputs: Sequence[Any] | None, failure: BaseException | None = None) -> None:
        """The call returned, or raised."""


class StepReceiver(Protocol):
    """A step of a tap, as the call hook uses it. None of its methods may raise."""

    @property
    def owner(self) -> object:
        """Identifies the tap."""

    @property
    def active(self) -> bool:
        """Whether anything of the step is captured or recorded."""

    @property
    def watches(self) -> Sequence[Watch]:
        """The tap's watches that select this step."""

    @property
    def visits(self) -> int | None:
        """How many iterations of a loop the step stores at most; None: each is needed."""

    @property
    def exact(self) -> bool:
        """Whether the original function must make the step, and a shadow of it be captured."""

    @property
    def summarizes_on_device(self) -> bool:
        """Whether the function itself summarizes tensors of which only the summary is needed."""

    @property
    def known_layers(self) -> Sequence[str]:
        """The known layer paths of the model."""

    @property
    def names(self) -> Mapping[str, str]:
        """Graph names to use for functions, by the functions' short names."""

    @property
    def records(self) -> bool:
        """Whether the calls of this step are recorded."""

    @property
    def warnings(self) -> CaptureWarnings:
        """Receives warnings about tensors that cannot be captured."""

    def begin_recording(self, traced: TracedRoot, inputs: Sequence[Any]) -> PendingRecording | None:
        """Starts to record a call."""

    def take(self, traced: TracedRoot, values: TapValues, way: CaptureMode) -> None:
        """Captures the selected tensors of a call, which ran in place or in a shadow."""

    def called(self, function: str, inputs: Sequence[Any], outputs: Sequence[Any] | None) -> None:
        """A call returned."""

    def nothing_selected(self, traced: TracedRoot) -> None:
        """No tensor of a function is selected."""

    @property
    def possible_watches(self) -> Sequence[Watch]:
        """The watches that any step of the tap may have."""

    def draws_of(self, traced: TracedRoot) -> Mapping[Place, str]:
        """Tensors that taps must deliver of a function when it is recorded: see `PendingRecording.draws`."""


class CallReceiver(Receiver):
    """Delivers the tensors of one call to all of its steps, and to the recordings that need them."""

    def __init__(
        self,
        traced: TracedRoot,
        steps: Sequence[StepReceiver],
        way: CaptureMode,
        pending: Sequence[PendingRecording],
    ) -> None:
        self._traced = traced
        self._steps = steps
        self._way = way
        self._pending = [recording for recording in pending if recording.draws]

    @property
    def visits(self) -> int | None:
        """How many iterations of a loop the steps need; None: all."""
        return most_visits(self._steps)

    def expect_draws(self, tapped: bool) -> None:
        """Whether the current call has taps that deliver draws to recordings."""
        for recording in self._pending:
            recording.expect_draws(tapped)

    def take(self, values: TapValues) -> None:
        for step in self._steps:
            step.take(self._traced, values, self._way)
        if self._way == "in-place":
            self.take_draws(values)

    def take_draws(self, values: TapValues) -> None:
        """Delivers the step's own draws to the recordings."""
        for recording in self._pending:
            recording.take(values)

    def failed(self, error: Exception) -> None:
        self.expect_draws(False)
        for step in self._steps:
            step.warnings.function_failed(
                self._traced.root, "ran, but not all of its tensors could be read", error
            )


def most_visits(steps: Sequence[StepReceiver]) -> int | None:
    """The most iterations of a loop that one of the steps needs; None: all."""
    visits = [step.visits for step in steps if step.visits is not None]
    return max(visits) if len(visits) == len(steps) else None
