"""Chooses which visits of a node a step stores: the first, the last and every k-th iteration of a loop."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from tensortap.core.dtypes import Array

from ..instrument.device_summary import DeviceSummary
from .messages import CapturedTensor, GraphHandle, Tensors, held_bytes

_MAX_HELD = 64 << 20  # bytes of a step's visits that wait for its end
_MAX_PINNED = 8  # visits that stay for their first NaN or infinity, beyond the budget


@dataclass(eq=False)
class _Visit:
    """The tensors of one visit. `pinned`: it stays, for any number; `written`: it goes to the dump."""

    number: int
    tensors: list[CapturedTensor]
    pinned: bool = False
    written: bool = True


@dataclass(eq=False)
class _Thinned:
    """The visits of some tensors that one queue or run delivers together.

    `seen` visits there were so far, of which `waiting` are held, the last one apart; every `interval`-th is
    stored. `room`: how many of those that wait may be written. `bad` are the tensors with a NaN or an
    infinity.
    """

    graph: GraphHandle
    room: int
    seen: int = 1
    interval: int = 1
    written_early: int = 0
    waiting: list[_Visit] = field(default_factory=list)
    last: _Visit | None = None
    bad: set[str] = field(default_factory=set)
    pinned: int = 0


class VisitBudget:
    """Thins the visits of one step to those that its watches store of each tensor (`Watch(visits=…)`).

    Which visit is the last one is known when the step ends; until then visits wait here, up to 64 MiB in all.
    Beyond that they are written early, and later visits are stored at growing intervals. The first visit with
    a NaN or an infinity is always stored. Tensors checked by a trigger are passed to it anyway, and only
    written if they are stored, or the trigger fires.

    Args:
        report: called with a tensor of the first skipped visits, and the budget.
    """

    def __init__(self, report: Callable[[CapturedTensor, int], object]) -> None:
        self._report = report
        self._thinned: dict[Hashable, _Thinned] = {}
        self._begun: set[Hashable] = set()
        self._held = 0

    def add(self, graph: GraphHandle, key: Hashable, tensors: Tensors) -> Tensors:
        """Adds the next visit of some tensors; returns the visits to deliver now.

        Args:
            key: identifies these tensors.
        """
        if key not in self._begun:
            self._begun.add(key)
            return tensors
        by_limit: defaultdict[int | None, list[CapturedTensor]] = defaultdict(list)
        for tensor in tensors:
            by_limit[tensor.handling.visits].append(tensor)
        now = by_limit.pop(None, [])
        for limit, some in by_limit.items():
            assert limit is not None
            thinned = self._thinned.setdefault((key, limit), _Thinned(graph, limit - 2))
            self._add(thinned, some, limit)
            if self._held > _MAX_HELD:
                now = [*self._hand_over_early(thinned, limit), *now]
        return now

    def end(self) -> Iterator[tuple[GraphHandle, list[CapturedTensor]]]:
        """Return the visits that waited for the end of the step, by graph."""
        for thinned in self._thinned.values():
            if thinned.last is not None:
                thinned.waiting.append(thinned.last)
            yield thinned.graph, _tensors(thinned.waiting)
        self._thinned, self._held = {}, 0

    def _add(self, thinned: _Thinned, tensors: list[CapturedTensor], limit: int) -> None:
        visit = _Visit(thinned.seen, tensors)
        thinned.seen += 1
        self._held += sum(held_bytes(tensor.array) for tensor in tensors)
        before, thinned.last = thinned.last, visit
        if thinned.interval > 1:
            _pin_if_bad(thinned, visit)
        if before is None:
            return
        thinned.waiting.append(before)
        if before.number % thinned.interval:
            self._leave_out(thinned, before)
        while sum(each.written and not each.pinned for each in thinned.waiting) > max(thinned.room, 0):
            if thinned.interval == 1:
                self._report(tensors[0], limit)
                for each in (*thinned.waiting, visit):
                    _pin_if_bad(thinned, each)
            thinned.interval *= 2
            for each in [each for each in thinned.waiting if each.number % thinned.interval]:
                self._leave_out(thinned, each)

    def _leave_out(self, thinned: _Thinned, visit: _Visit) -> None:
        """Skips a visit; frees the tensors that no trigger needs."""
        if visit.pinned:
            return
        visit.written = False
        before = sum(held_bytes(tensor.array) for tensor in visit.tensors)
        visit.tensors = [
            tensor._replace(handling=tensor.handling._replace(written=False))
            for tensor in visit.tensors
            if tensor.handling.hold is not None
        ]
        self._held += sum(held_bytes(tensor.array) for tensor in visit.tensors) - before
        if not visit.tensors:
            thinned.waiting.remove(visit)

    def _hand_over_early(self, thinned: _Thinned, limit: int) -> list[CapturedTensor]:
        """Delivers all waiting visits but the last; later visits are stored at larger intervals."""
        written = sum(visit.written and not visit.pinned for visit in thinned.waiting)
        thinned.room -= written
        thinned.written_early += written
        tensors = _tensors(thinned.waiting)
        self._held -= sum(held_bytes(tensor.array) for tensor in tensors)
        thinned.waiting = []
        thinned.interval = max(thinned.interval, 1 << (4 * thinned.written_early // max(limit, 1)))
        return tensors


def _tensors(visits: Sequence[_Visit]) -> list[CapturedTensor]:
    return [tensor for visit in visits for tensor in visit.tensors]


def _pin_if_bad(thinned: _Thinned, visit: _Visit) -> None:
    """Keeps the first visit at which a tensor is not finite."""
    if thinned.pinned == _MAX_PINNED:
        return
    fresh = {
        tensor.name
        for tensor in visit.tensors
        if tensor.name not in thinned.bad and not _is_finite(tensor.array)
    }
    if fresh:
        thinned.bad |= fresh
        thinned.pinned += 1
        visit.pinned = True


def _is_finite(array: Array | DeviceSummary) -> bool:
    """Whether an array has no NaN and no infinity; True for dtypes without them."""
    if isinstance(array, DeviceSummary):
        return array.is_finite
    if array.dtype.kind in "biuOSU?":
        return True
    try:
        return bool(np.isfinite(array).all())
    except TypeError:  # a dtype that NumPy does not know
        return True
