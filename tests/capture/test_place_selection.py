"""The tensors of a function that watches select, and their visits."""

from __future__ import annotations

import numpy as np

from tensortap import Watch
from tensortap.capture.place_selection import PlaceSelection, StepVisits
from tensortap.capture.tracing.candidate import Candidate
from tensortap.capture.tracing.traced_function import TracedRoot
from tensortap.capture.watching.selection import StepWatches
from tensortap.core.records import Graph

PLACES = [("f", "a", 0), ("f", "b", 0), ("f", "c", 0)]


def made(*watches: Watch) -> tuple[TracedRoot, PlaceSelection]:
    candidates = {place: Candidate(place[1], place[2], "Relu", "float32", (None,)) for place in PLACES}
    traced = TracedRoot("f", {}, candidates, lambda: Graph("f", ()))
    return traced, PlaceSelection(traced, StepWatches(watches))


def test_visits_continue_from_group_to_group() -> None:
    traced, selection = made(Watch(nodes="a|c"))
    visits = StepVisits().of(traced)
    arrays = [np.full(2, number, np.float32) for number in range(3)]
    together, some = list(PLACES), [PLACES[2], PLACES[1]]

    def taken(places: list[tuple[str, str, int]], skipped: int = 0) -> list[tuple[str, int, float]]:
        found = selection.take(visits, places, arrays[: len(places)], skipped)
        return [(tensor.name, tensor.visit, tensor.values[0]) for tensor in found]

    assert taken(together) == [("a:0", 0, 0), ("c:0", 0, 2)]
    assert taken(some) == [("c:0", 1, 0)]
    assert taken(together, skipped=3) == [("a:0", 4, 0), ("c:0", 5, 2)]
    selection.count_skipped(visits, some, 2)
    assert taken(some) == [("c:0", 8, 0)]
    assert selection.visits_by_name(visits) == {"a:0": 5, "c:0": 9}


def test_a_place_that_a_group_holds_twice() -> None:
    traced, selection = made(Watch())
    visits, places = StepVisits().of(traced), [PLACES[0], PLACES[1], PLACES[0]]
    for first in (0, 2):
        found = selection.take(visits, places, [np.zeros(1, np.float32)] * 3, 0)
        assert [tensor.visit for tensor in found] == [first, first // 2, first + 1]


def test_tensors_of_a_size_that_only_the_step_knows() -> None:
    traced, selection = made(Watch(min_size=5))
    arrays = [np.zeros(size, np.float32) for size in (4, 5, 6)]
    found = selection.take(StepVisits().of(traced), PLACES, arrays, 0)
    assert [tensor.name for tensor in found] == ["b:0", "c:0"]
