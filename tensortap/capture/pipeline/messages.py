"""What travels from the training thread to the writer's: captured tensors of one call."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from tensortap.core.dtypes import Array
from tensortap.core.model import Graph, Keep
from tensortap.core.sampling import Sample

from ..selection import Wish
from ..tracing.candidate import Candidate


def held_bytes(array: Array) -> int:
    """Memory that an array takes, its texts included: `nbytes` counts only where they are."""
    return array.nbytes + sum(map(len, array.flat)) if array.dtype.hasobject else array.nbytes


@dataclass(eq=False)
class GraphHandle:
    """A graph that is written once, before the first snapshot of it; `id` is set then.

    Args:
        make: gives the graph, if there is one. The writer's thread asks for it, once: no step waits for it.
    """

    make: Callable[[], Graph | None] = lambda: None
    id: str = ""

    @cached_property
    def known(self) -> Graph | None:
        """The graph; None where there is none."""
        return self.make()


class CapturedTensor(NamedTuple):
    """One tensor of one visit. `keep` says how much of it goes to the dump, `sample` what part of it.

    `written` says whether it goes there at all if no trigger fires, `hold` what goes there if one does.
    """

    candidate: Candidate
    visit: int
    array: Array
    keep: Keep
    sample: Sample | None = None
    written: bool = True
    hold: Wish | None = None


class Event(NamedTuple):
    """An event for the dump (FORMAT.md, "Events")."""

    kind: str
    facts: Mapping[str, Any]


@dataclass(eq=False)
class Entry:
    """One entry of a step, or of those that run in one call. Two of the same number are not the same one, and
    several may be open at once, in threads or tasks that take turns.

    Attributes:
        steps: those that run; fewer than began, or none, where the data ended.
        records: whether its calls are recorded.
        ended: whether it is over.
        unheard: whether its end found no room in the queue.
        ends_fit: whether a trigger wants Keras' `fit` to return.
    """

    steps: range
    records: bool = False
    ended: bool = False
    unheard: bool = False
    ends_fit: bool = False


class StepEnd(NamedTuple):
    """The end of a step: what it raised, or empty; `examined` is set when the triggers have looked at it."""

    error: str
    examined: threading.Event


@dataclass(frozen=True, eq=False)
class Batch:
    """Tensors of one step and graph, in the order they should be written.

    `time` is seconds since 1970; `nbytes` the size of all arrays (those that share a buffer count each).
    Without tensors, it may carry an event, which is of no entry, or the end of the step.
    """

    step: int
    time: float
    graph: GraphHandle
    captured: deque[CapturedTensor]
    nbytes: int
    event: Event | None = None
    end: StepEnd | None = None
    entry: Entry | None = None
