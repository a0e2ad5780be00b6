"""The flight recorder: the last steps in bounded memory, written only when a trigger fires."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Any

from ..errors import WatchError
from ..pipeline.messages import CapturedTensor, TensorBatch, held_bytes
from ..watching.selection import Handling
from ..watching.step_schedule import is_whole_number
from ..watching.watch import Watch, Watches
from .triggers import every_step


@dataclass(frozen=True)
class FlightRecorder:
    """Holds the last steps in memory, and writes them when a trigger fires or a step raises.

    Args:
        steps: number of steps to write before the step that fired.
        watch: tensors to hold. The default is the values of all tensors captured for the tap's watches and
            triggers. Without `steps=`, it applies to every step.
        max_bytes: limit of host memory. Fewer steps are held if they need more.
        after: number of steps to write after the step that fired.

    Example:
        ```python
        tensortap.Tap("logs/hunt", on=tensortap.NonFinite(), before=tensortap.FlightRecorder(steps=3))
        ```

    Raises:
        WatchError: an argument is invalid.
    """

    steps: int = 5
    watch: Watch | Watches | None = None
    max_bytes: int = 1 << 30
    after: int = 0
    watches: tuple[Watch, ...] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        for name in ("steps", "max_bytes", "after"):
            value = getattr(self, name)
            if not is_whole_number(value):
                raise WatchError(f"{name}={value!r} of a FlightRecorder is not valid.", "Use 0 or more.")
        object.__setattr__(self, "watches", () if self.watch is None else every_step(self.watch))


def as_recorder(given: Any) -> FlightRecorder:
    """A flight recorder, or a number of steps.

    Raises:
        WatchError: it is neither.
    """
    if isinstance(given, FlightRecorder):
        return given
    if is_whole_number(given):
        return FlightRecorder(int(given))
    raise WatchError(
        f"before={given!r} is not a flight recorder.", "Use FlightRecorder(5), or a number of steps."
    )


@dataclass
class BufferedStep:
    """One step: its batches. Each tensor is written as selected or as held."""

    step: int
    batches: list[TensorBatch]
    nbytes: int = 0

    def __post_init__(self) -> None:
        # Many tensors of a step show the same memory.
        arrays = [item.values for batch in self.batches for item in batch.tensors]
        buffers = {
            (array.__array_interface__["data"][0], array.nbytes): held_bytes(array) for array in arrays
        }
        self.nbytes = sum(buffers.values())

    def as_wanted(self) -> list[TensorBatch]:
        """Batches to write if no trigger fires."""
        return [
            _with(batch, [item for item in batch.tensors if item.handling.written]) for batch in self.batches
        ]

    def as_held(self) -> list[TensorBatch]:
        """Batches to write if a trigger fires."""
        return [
            _with(batch, [held for item in batch.tensors if (held := _held(item)) is not None])
            for batch in self.batches
        ]


def _held(item: CapturedTensor) -> CapturedTensor | None:
    handling = item.handling
    if handling.hold is None:
        return item if handling.written else None
    if handling.written and handling.keep == "value" and handling.sample is None:
        return item
    return item._replace(handling=Handling(*handling.hold))


def _with(batch: TensorBatch, tensors: list[CapturedTensor]) -> TensorBatch:
    return TensorBatch(batch.step, batch.time, batch.graph, [tensors])


class StepBuffer:
    """The held steps, oldest first; steps that drop out are written as selected."""

    def __init__(self, recorder: FlightRecorder) -> None:
        self._recorder = recorder
        self._held: deque[BufferedStep] = deque()
        self._nbytes = 0

    def push(self, step: BufferedStep) -> list[TensorBatch]:
        """Adds a step; returns what must be written now because it drops out."""
        self._held.append(step)
        self._nbytes += step.nbytes
        fallen: list[TensorBatch] = []
        while len(self._held) > self._recorder.steps or self._nbytes > self._recorder.max_bytes:
            oldest = self._held.popleft()
            self._nbytes -= oldest.nbytes
            fallen += oldest.as_wanted()
        return fallen

    def empty(self, *, fired: bool) -> list[TensorBatch]:
        """Releases everything; returns what must be written."""
        batches = [batch for step in self._held for batch in (step.as_held() if fired else step.as_wanted())]
        self._held.clear()
        self._nbytes = 0
        return batches

    @property
    def first_step(self) -> int | None:
        """The oldest step that is held."""
        return self._held[0].step if self._held else None
