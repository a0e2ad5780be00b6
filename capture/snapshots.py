"""What travels from the training thread to the writer's: captured tensors of one call."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from tensortap.dump import Graph, Keep, Sample

from .candidates import Candidate

Array = np.ndarray[Any, Any]


@dataclass(eq=False)
class GraphHandle:
    """A graph that is written once, before the first snapshot of it; `id` is set then, and `graph` let go."""

    graph: Graph | None
    id: str = ""


class Captured(NamedTuple):
    """One tensor of one visit. `keep` says how much of it goes to the dump, `sample` what part of it."""

    candidate: Candidate
    visit: int
    array: Array
    keep: Keep
    sample: Sample | None = None


@dataclass(frozen=True, eq=False)
class Batch:
    """Tensors of one step and graph, in the order they should be written.

    `time` is seconds since 1970; `nbytes` the size of all arrays (those that share a buffer count each).
    """

    step: int
    time: float
    graph: GraphHandle
    captured: deque[Captured]
    nbytes: int
