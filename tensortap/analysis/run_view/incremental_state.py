"""Results per tensor, kept between analyses and extended as a run grows.

Rows of a catalog never move and are never removed. So whatever holds for a tensor's first rows and of
those behind them separately, and put together exactly, is held from one look to the next; a tensor that got
rows of a step that lies before its latest (another worker's, mostly) is checked from its first row again,
and so are all where it matters which values are kept and some were pruned.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar
from weakref import ReferenceType, WeakKeyDictionary

import numpy as np

from tensortap.core.dtypes import Array
from tensortap.index.graph.graph_index import GraphIndex
from tensortap.index.run_index import RunIndex

from ..model_graph.roles import TensorRole
from .snapshot_rows import SnapshotRows

_MAX_ENTRIES = 64  # cached results of a run, the most recently used


class TensorState(Protocol):
    """State that an analysis holds of tensors, by their codes."""

    def forget(self, code: int) -> None:
        """Drops all state of a tensor."""


class DependsOnValues:
    """A cached result that depends on stored values; pruning invalidates it."""


S = TypeVar("S", bound=TensorState)
Add = Callable[[S, SnapshotRows], None]


@dataclass(slots=True)
class CacheEntry(Generic[S]):
    """State that is held: for which tensors (by code), of the catalog's first `rows`."""

    state: S
    wanted: Array
    rows: int = 0


@dataclass
class AnalysisCache:
    """Results about a run, so that the next analysis continues from there. For one analysis at a time.

    Attributes:
        rows, prunings: of the catalog, at the last look.
        rows_of_late_data: by tensor, `rows` at the look that saw it get rows of an earlier step than its
            latest; 0 if none did.
        tensors: roles by code. graphs: the graphs they were derived from, by id.
    """

    lock: threading.Lock = field(default_factory=threading.Lock)
    rows: int = 0
    rows_of_late_data: Array = field(default_factory=lambda: np.zeros(0, np.int64))
    prunings: int = 0
    tensors: list[TensorRole] = field(default_factory=list)
    graphs: dict[str, ReferenceType[GraphIndex]] = field(default_factory=dict)
    _held: OrderedDict[Hashable, CacheEntry[Any]] = field(default_factory=OrderedDict)
    _latest: Array = field(default_factory=lambda: np.full((2, 0), np.iinfo(np.int64).min))

    def note(self, run: RunIndex, added: SnapshotRows, rows: int, count: int) -> None:
        """Adds the snapshots since the last analysis, ordered; `count`: the number of tensors now."""
        if self.prunings != run.catalog.prunings:  # before any cached result is used
            self.prunings = run.catalog.prunings
            for key in [key for key, held in self._held.items() if isinstance(held.state, DependsOnValues)]:
                del self._held[key]
        more = count - len(self.rows_of_late_data)
        rows_of_late_data = np.append(self.rows_of_late_data, np.zeros(more, np.int64))
        latest = np.concatenate((self._latest, np.full((2, more), np.iinfo(np.int64).min)), axis=1)
        if len(added):
            starts = added.starts
            stops = np.append(starts[1:], len(added)) - 1
            codes = added.tensor[starts]
            visit = run.catalog.column("visit", added.rows)
            first, last = (np.stack([added.step[at], visit[at]]) for at in (starts, stops))
            known = latest[:, codes]
            before = (first[0] < known[0]) | ((first[0] == known[0]) & (first[1] < known[1]))
            rows_of_late_data[codes[before]] = rows
            later = (last[0] > known[0]) | ((last[0] == known[0]) & (last[1] > known[1]))
            latest[:, codes[later]] = last[:, later]
        self.rows_of_late_data, self._latest, self.rows = rows_of_late_data, latest, rows

    def take(self, key: Hashable, make: Callable[[], S]) -> CacheEntry[S]:
        """Takes a result out of the cache, or makes a new one. It is cached again only by `put`, so an
        interrupted analysis leaves no half-updated result."""
        held: CacheEntry[S] = (
            self._held.pop(key) if key in self._held else CacheEntry(make(), np.zeros(0, np.bool_))
        )
        more = len(self.rows_of_late_data) - len(held.wanted)
        held.wanted = np.append(held.wanted, np.zeros(more, np.bool_))
        return held

    def put(self, key: Hashable, held: CacheEntry[Any]) -> None:
        """Caches a result."""
        self._held[key] = held
        while len(self._held) > _MAX_ENTRIES:
            self._held.popitem(last=False)


_MEMORIES: WeakKeyDictionary[Any, AnalysisCache] = WeakKeyDictionary()  # by catalog


@contextmanager
def memory_of(run: RunIndex) -> Iterator[AnalysisCache]:
    """The results of earlier analyses of a run; empty while another thread uses them."""
    memory = _MEMORIES.setdefault(run.catalog, AnalysisCache())
    if not memory.lock.acquire(blocking=False):
        yield AnalysisCache()
        return
    try:
        yield memory
    finally:
        memory.lock.release()
