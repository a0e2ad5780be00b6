"""What a call is captured for: the watched steps of taps, and recordings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from tensortap.core.model import Way

from ..tracing.candidate import Candidate
from ..tracing.traced_function import Place, TracedRoot
from ..watch import Watch
from .tapped_function import TapValues


class PendingRecording(Protocol):
    """A call that is being recorded. None of its methods raises."""

    @property
    def inputs(self) -> Sequence[Any]:
        """What the function is to be called with, so that the recording sees what it draws."""

    @property
    def draws(self) -> Mapping[Place, str]:
        """Tensors that must be caught of the call, even if it fails: what random ops draw from streams of
        their own; and by which node each is."""

    def catches(self, catching: bool) -> None:
        """Whether the call that runs now catches them."""

    def take(self, caught: TapValues) -> None:
        """What the call caught, these among it."""

    def end(self, outputs: Sequence[Any] | None, failure: BaseException | None = None) -> None:
        """The call returned, or raised."""


class Capture(Protocol):
    """One watched step of one tap. None of its methods may raise."""

    @property
    def owner(self) -> object:
        """The tap."""

    @property
    def watches(self) -> tuple[Watch, ...]:
        """The tap's watches that want this step."""

    @property
    def exact(self) -> bool:
        """Whether the untouched function must make the step, and a shadow of it be captured."""

    @property
    def known_layers(self) -> Sequence[str]:
        """Layer paths of the model, as far as they are known."""

    @property
    def records(self) -> bool:
        """Whether the calls of this step are recorded."""

    def begin(self, traced: TracedRoot, inputs: Sequence[Any]) -> PendingRecording | None:
        """Starts to record a call."""

    def take(self, traced: TracedRoot, caught: TapValues, way: Way) -> None:
        """Keeps what its watches select of that which a call caught, in place or in a shadow."""

    def failed(self, function: str, what: str, error: BaseException) -> None:
        """Something went wrong with the taps of a function; the function itself runs."""

    def no_shadow(self, function: str, why: str) -> None:
        """A function that must be captured exactly cannot be; it runs untapped."""

    def draws_apart(self, function: str, nodes: Sequence[str], copies: int) -> None:
        """Each of the copies of a function, so many by now, has random streams of its own."""

    def inside_datasets(self, function: str, nodes: Sequence[str]) -> None:
        """Nodes of a function run functions of datasets, which are not captured."""

    def missed(self, traced: TracedRoot) -> None:
        """Nothing of a function is selected."""

    def out_of_reach(self, candidates: Sequence[Candidate]) -> None:
        """Selected tensors lie inside loops or branches that XLA compiles."""


class CallReceiver:
    """Passes what one call catches on to all captures, and to the recordings that need it."""

    def __init__(
        self,
        traced: TracedRoot,
        captures: Sequence[Capture],
        way: Way,
        pending: Sequence[PendingRecording],
    ) -> None:
        self._traced = traced
        self._captures = captures
        self._way = way
        self._pending = [recording for recording in pending if recording.draws]

    def catches(self, catching: bool) -> None:
        """Whether the call that runs now catches what recordings need."""
        for recording in self._pending:
            recording.catches(catching)

    def take(self, caught: TapValues) -> None:
        for capture in self._captures:
            capture.take(self._traced, caught, self._way)
        for recording in self._pending:
            recording.take(caught)

    def failed(self, error: Exception) -> None:
        self.catches(False)
        for capture in self._captures:
            capture.failed(self._traced.root, "ran, but not all of its tensors could be read", error)
