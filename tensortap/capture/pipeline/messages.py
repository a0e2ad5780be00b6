"""Messages from the training thread to the writer's: tensors of a step, events, and ends of steps."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Protocol

from tensortap.core.dtypes import Array
from tensortap.core.records import Graph, Keep
from tensortap.core.sampling import Sample

from ..instrument.device_summary import DeviceSummary
from ..tracing.candidate import Candidate
from ..watching.selection import Handling


def held_bytes(array: Array | DeviceSummary) -> int:
    """Memory that an array takes, its texts included: `nbytes` counts only where they are."""
    if isinstance(array, DeviceSummary):
        return array.nbytes
    return array.nbytes + sum(map(len, array.flat)) if array.dtype.hasobject else array.nbytes


@dataclass(eq=False)
class GraphHandle:
    """A graph that is written once, before the first snapshot of it; `id` is set then.

    Args:
        make: gives the graph, if there is one. The writer's thread calls it, once: no step waits for it.
    """

    make: Callable[[], Graph | None] = lambda: None
    id: str = ""

    @cached_property
    def known(self) -> Graph | None:
        """The graph; None without one."""
        return self.make()


class CapturedTensor(NamedTuple):
    """One tensor of one visit, created when it has left the function; `DumpWriter.log_many` reads it."""

    candidate: Candidate
    visit: int
    array: Array | DeviceSummary
    handling: Handling

    @property
    def name(self) -> str:
        """The tensor name, `node:slot`."""
        return self.candidate.name

    @property
    def values(self) -> Array:
        """The array where triggers or recordings need it: no tap with these summarizes on the device."""
        assert not isinstance(self.array, DeviceSummary)
        return self.array

    @property
    def device(self) -> str:
        return self.candidate.device

    @property
    def keep(self) -> Keep:
        return self.handling.keep

    @property
    def sample(self) -> Sample | None:
        return self.handling.sample


class StepEntry(Protocol):
    """A step (`capture.step.Step`) as the writer thread sees it: which one a message is about.

    Two of the same number are not the same one, and several may be open at once, in threads or tasks that
    take turns.

    Attributes:
        numbers: of the steps that run in one call; fewer than began, or none, where the data ended.
        ended: whether it is over.
        end_lost: whether its `StepEnd` found no room in the queue.
    """

    numbers: range
    ended: bool
    end_lost: bool


@dataclass(frozen=True, eq=False)
class TensorBatch:
    """Tensors of one step and graph, in the order they should be written.

    `time` is seconds since 1970; `nbytes` the size of all arrays (those that share a buffer count each).
    `entry` is the step that they are captured in, until its trigger has been checked.
    """

    step: int
    time: float
    graph: GraphHandle
    tensors: deque[CapturedTensor]
    nbytes: int
    entry: StepEntry | None = None


@dataclass(frozen=True, eq=False)
class Event:
    """An event for the dump (FORMAT.md, "Events"). `facts`: its other keys, or a function that creates them
    when the event is written, because they may name data written just before."""

    step: int
    kind: str
    facts: Mapping[str, Any] | Callable[[], Mapping[str, Any]]


@dataclass(frozen=True, eq=False)
class StepEnd:
    """A step is over, and all its tensors have been sent.

    `error` is the error it raised, or empty; `examined` is set when the triggers have checked the step.
    """

    entry: StepEntry
    error: str
    examined: threading.Event


Message = TensorBatch | Event | StepEnd


def size_of(message: Message) -> tuple[int, int]:
    """Number of snapshots in a message, and its size in bytes."""
    return (len(message.tensors), message.nbytes) if isinstance(message, TensorBatch) else (0, 0)
