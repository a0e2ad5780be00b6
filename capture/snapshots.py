"""What travels from the training thread to the writer's: captured tensors of one call."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from tensortap.dump import Graph, Keep, Sample

from .candidates import Candidate
from .wish import Wish

Array = np.ndarray[Any, Any]


def held_bytes(array: Array) -> int:
    """Memory that an array takes, its texts included: `nbytes` counts only where they are."""
    return array.nbytes + sum(map(len, array.flat)) if array.dtype.hasobject else array.nbytes


@dataclass(eq=False)
class GraphHandle:
    """A graph that is written once, before the first snapshot of it; `id` is set then, and `graph` let go.

    `known` is the graph for those who ask about its nodes.
    """

    graph: Graph | None
    id: str = ""
    known: Graph | None = field(init=False)

    def __post_init__(self) -> None:
        self.known = self.graph


class Captured(NamedTuple):
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


@dataclass(frozen=True, eq=False)
class Entry:
    """One entry of a step, or of those that run in one call. Two of the same number are not the same one."""

    steps: range


class StepEnd(NamedTuple):
    """The end of a step: what it raised, or empty; `examined` is set when the triggers have looked at it."""

    error: str
    examined: threading.Event


@dataclass(frozen=True, eq=False)
class Batch:
    """Tensors of one step and graph, in the order they should be written.

    `time` is seconds since 1970; `nbytes` the size of all arrays (those that share a buffer count each).
    Without tensors, it may carry an event, or the end of the step. `entry` is that of the step, if its calls
    are recorded.
    """

    step: int
    time: float
    graph: GraphHandle
    captured: deque[Captured]
    nbytes: int
    event: Event | None = None
    end: StepEnd | None = None
    entry: Entry | None = None
