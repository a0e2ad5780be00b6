"""Messages from the training thread to the writer's: tensors of a step, events, and ends of steps."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from operator import attrgetter
from typing import Any, NamedTuple, Protocol

from tensortap.core.dtypes import Array
from tensortap.core.records import Graph, Keep
from tensortap.core.sampling import Sample

from ..instrument.device_summary import DeviceSummary
from ..tracing.candidate import Candidate
from ..watching.selection import Handling

_NBYTES: Callable[[Any], int] = attrgetter("nbytes")


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


class SelectedTensors:
    """Selected tensors of a visit, by position. The writer thread makes the `CapturedTensor` of each: a step
    has thousands, and the training thread has other things in its caches. `texts`: whether some are texts."""

    def __init__(
        self,
        candidates: Sequence[Candidate],
        visits: Sequence[int],
        arrays: Sequence[Array | DeviceSummary],
        handlings: Sequence[Handling],
        *,
        texts: bool,
    ) -> None:
        self._candidates, self._visits, self._handlings = candidates, visits, handlings
        self._arrays, self._texts = arrays, texts

    def __len__(self) -> int:
        return len(self._arrays)

    def __iter__(self) -> Iterator[CapturedTensor]:
        tensors = zip(self._candidates, self._visits, self._arrays, self._handlings, strict=True)
        return map(CapturedTensor._make, tensors)

    @property
    def nbytes(self) -> int:
        """Memory of all arrays, `held_bytes` of each."""
        return sum(map(held_bytes if self._texts else _NBYTES, self._arrays))


Tensors = list[CapturedTensor] | SelectedTensors


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

    `time` is seconds since 1970. `entry` is the step that they are captured in, until its trigger has been
    checked.
    """

    step: int
    time: float
    graph: GraphHandle
    visits: list[Tensors]
    entry: StepEntry | None = None

    @cached_property
    def tensors(self) -> deque[CapturedTensor]:
        """All tensors, for the writer thread; it frees them one by one."""
        tensors = deque(chain.from_iterable(self.visits))
        self.visits.clear()
        return tensors

    @cached_property
    def nbytes(self) -> int:
        """The size of all arrays, known before `tensors` is (those that share a buffer count each)."""
        return sum(
            visit.nbytes
            if isinstance(visit, SelectedTensors)
            else sum(held_bytes(tensor.array) for tensor in visit)
            for visit in self.visits
        )


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
    """Number of snapshots in a message, and its size in bytes when it was queued."""
    if not isinstance(message, TensorBatch):
        return 0, 0
    return sum(map(len, message.visits)) or len(message.tensors), message.nbytes
