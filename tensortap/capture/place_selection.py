"""The tensors of a traced function that watches select, and how often each was captured in a step."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tensortap.core.dtypes import STRING, Array

from .instrument.device_summary import DeviceSummary
from .pipeline.messages import CapturedTensor, SelectedTensors, Tensors
from .tracing.candidate import Candidate
from .tracing.traced_function import Place, TracedRoot
from .watching.selection import Handling, Selected, StepWatches
from .watching.watch import MAIN_KINDS

Counts = npt.NDArray[np.int64]
"""By number of the place: its position among the candidates of a traced function."""

_MAX_GROUPS = 1000


class StepVisits:
    """Visits so far in a step.

    Attributes:
        runs: by kind of session run, and tensor.
    """

    def __init__(self) -> None:
        self.runs: defaultdict[str, Counter[Any]] = defaultdict(Counter)
        self._functions: dict[str, Counts] = {}

    def of(self, traced: TracedRoot) -> Counts:
        """Of a function and what it calls."""
        if traced.root not in self._functions:
            self._functions[traced.root] = np.zeros(len(traced.candidates), np.int64)
        return self._functions[traced.root]


class _Group(NamedTuple):
    """The selected among the tensors that leave a function together, at `places`.

    `positions` are theirs among the places, None if all are selected; `numbers` of their places; `repeats`:
    how often the place stands in the group before. `sized`: the handling of some depends on their size;
    `texts`: some are texts.
    """

    places: Sequence[Place]
    positions: list[int] | None
    numbers: npt.NDArray[np.int64]
    repeats: npt.NDArray[np.int64]
    selected: list[Selected]
    candidates: list[Candidate]
    handlings: list[Handling]
    sized: bool
    texts: bool


class PlaceSelection:
    """The tensors of a function that the watches of a step select.

    A step delivers thousands of tensors, in the same groups each time. What is needed of a group is collected
    once: with a lookup for each tensor most of the time went to memory that the step had displaced from the
    caches.

    Attributes:
        has_roles, has_others: whether losses, gradients, weights or layer outputs are selected, and others.
    """

    def __init__(self, traced: TracedRoot, watches: StepWatches) -> None:
        self._numbers = {place: number for number, place in enumerate(traced.candidates)}
        self._selected = {
            place: selected
            for place, candidate in traced.candidates.items()
            if (selected := watches.select(candidate)) is not None
        }
        roles = [selected.candidate.kind in MAIN_KINDS for selected in self._selected.values()]
        self.has_roles, self.has_others = any(roles), not all(roles)
        self._groups: dict[int, _Group] = {}  # by id of their places, which they hold

    def take(
        self,
        visits: Counts,
        places: Sequence[Place],
        arrays: Sequence[Array | DeviceSummary],
        skipped: int,
    ) -> Tensors:
        """The selected tensors of a visit, which is counted with the `skipped` ones before it."""
        group = self._group(places)
        if group.positions is not None:
            arrays = [arrays[position] for position in group.positions]
        numbers = visits[group.numbers] + group.repeats + skipped
        visits[group.numbers] = numbers + 1
        if not group.sized:
            visit_numbers = numbers.tolist()
            return SelectedTensors(
                group.candidates, visit_numbers, arrays, group.handlings, texts=group.texts
            )
        tensors = zip(group.selected, numbers.tolist(), arrays, strict=True)
        return [
            CapturedTensor(selected.candidate, number, array, handling)
            for selected, number, array in tensors
            if (handling := selected.handle(array.size)) is not None
        ]

    def count_skipped(self, visits: Counts, places: Sequence[Place], skipped: int) -> None:
        """Counts visits that did not run."""
        visits[self._group(places).numbers] += skipped

    def visits_by_name(self, visits: Counts) -> dict[str, int]:
        """How often the selected tensors were captured, without those that were not."""
        return {
            selected.candidate.name: int(visits[self._numbers[place]])
            for place, selected in self._selected.items()
            if visits[self._numbers[place]]
        }

    def _group(self, places: Sequence[Place]) -> _Group:
        group = self._groups.get(id(places))
        if group is None:
            if len(self._groups) == _MAX_GROUPS:
                self._groups.clear()
            group = self._groups[id(places)] = self._collect(places)
        return group

    def _collect(self, places: Sequence[Place]) -> _Group:
        positions = [position for position, place in enumerate(places) if place in self._selected]
        seen: Counter[Place] = Counter()
        repeats = []
        for position in positions:
            repeats.append(seen[places[position]])
            seen[places[position]] += 1
        selected = [self._selected[places[position]] for position in positions]
        return _Group(
            places,
            None if len(positions) == len(places) else positions,
            np.array([self._numbers[places[position]] for position in positions], np.int64),
            np.array(repeats, np.int64),
            selected,
            [each.candidate for each in selected],
            [each.handling for each in selected if each.handling is not None],
            any(each.handling is None for each in selected),
            any(each.candidate.dtype == STRING for each in selected),
        )
