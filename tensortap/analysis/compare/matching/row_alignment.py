"""Rows of two catalogs that belong together: the same step and visit of two tensors that were matched."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tensortap.core.dtypes import Array
from tensortap.index.catalog.tensor_table import NO_GRAPH
from tensortap.index.run_index import RunIndex

from ...model_graph.roles import Slot
from ..side import Side
from .node_matching import Matching

_MAX_SINGLE_LOOKUPS = 8  # steps whose rows are looked up one by one
_LARGEST_KEY = 1 << 62


class StepRows(NamedTuple):
    """Snapshots of a side at some steps: rows of its catalog, the place of each one's step among those steps,
    codes of tensors, visits."""

    row: Array
    place: Array
    tensor: Array
    visit: Array

    def where(self, wanted: Array | slice) -> StepRows:
        """Those of the rows that a mask selects."""
        return StepRows(*(column[wanted] for column in self))


class CodeMap:
    """A matching in terms of the catalogs' codes of tensors.

    Attributes:
        partner: code of A -> code of B, -1 without one. slots: code of A -> its slot in the graph.
    """

    def __init__(self, a: RunIndex, b: RunIndex, matching: Matching) -> None:
        of_b = {slot: code for code, slot in _slots(b, matching.b.id, matching.b.rows)}
        self.partner: Array = np.full(len(a.catalog.tensors), -1, np.int64)
        self.slots: dict[int, Slot] = {}
        for code, (row, slot) in _slots(a, matching.a.id, matching.a.rows):
            other = matching.partner.get(row, -1), slot
            if other in of_b:
                self.partner[code] = of_b[other]
                self.slots[code] = row, slot


def _slots(run: RunIndex, graph: str, rows: dict[str, int]) -> list[tuple[int, Slot]]:
    """(code, slot) of the captured tensors of a graph."""
    codes = run.catalog.tensors.in_graph(graph)
    names, slots = run.catalog.tensors.nodes_and_slots(codes)
    found = zip(codes.tolist(), names, slots.tolist(), strict=True)
    return [(code, (rows[name], slot)) for code, name, slot in found if name in rows]


def step_rows(side: Side, steps: Array) -> tuple[StepRows, Array]:
    """The snapshots to compare (one worker per step) and their graphs: int64[k, 2] of place and code of a
    tensor, ascending. Graphs that only other workers captured are skipped: between two workers of one run
    they would be paired with themselves.

    Args:
        steps: int64, ascending.
    """
    catalog = side.run.catalog
    if len(steps) <= _MAX_SINGLE_LOOKUPS:
        codes = [code for step in steps.tolist() if (code := catalog.steps.code(step)) is not None]
        rows = np.concatenate([np.zeros(0, np.int64), *map(catalog.rows_of_step, codes)])
    else:
        rows = np.arange(catalog.rows)
    step = catalog.column("step", rows)
    place = np.minimum(np.searchsorted(steps, step), len(steps) - 1)
    inside = steps[place] == step
    if not inside.all():
        rows, place = rows[inside], place[inside]
    columns = (catalog.column(name, rows).astype(np.int64) for name in ("tensor", "visit"))
    found = StepRows(rows, place, *columns)
    found = found.where(_of_worker(side, found, len(steps)))
    size = max(len(catalog.tensors), 1)
    return found, np.stack(np.divmod(_distinct(found.place * size + found.tensor), size), axis=1)


def _of_worker(side: Side, found: StepRows, steps: int) -> Array | slice:
    """Rows of the side's worker; without one, of the first that wrote at the step."""
    catalog = side.run.catalog
    if side.worker is None and len(catalog.workers) == 1:
        return slice(None)
    worker = catalog.column("worker", found.row)
    if side.worker is not None:
        return np.asarray(worker == catalog.workers.code(side.worker))
    rank = side.worker_ranks()[worker]
    first = np.full(steps, len(catalog.workers), np.int64)
    np.minimum.at(first, found.place, rank)
    return np.asarray(first[found.place] == rank)


def joined(a: StepRows, b: StepRows, partner: Array) -> tuple[Array, Array] | None:
    """The positions of each pair in `a` and `b`, by step, tensor of B and visit. Of several snapshots of one
    visit the last is taken. None if there are too many to distinguish.

    Args:
        partner: code of A -> code of B; a tensor that was captured since it was made has none.
    """
    known = a.tensor < len(partner)
    tensor = np.full(len(a.tensor), -1, np.int64)
    tensor[known] = partner[a.tensor[known]]
    within = np.flatnonzero(tensor >= 0)
    tensors = 1 + int(max(tensor.max(initial=0), b.tensor.max(initial=0)))
    visits = 1 + int(max(a.visit.max(initial=0), b.visit.max(initial=0)))
    steps = 1 + int(max(a.place.max(initial=0), b.place.max(initial=0)))
    if steps * tensors * visits >= _LARGEST_KEY:
        return None
    left, at_a = _keys((a.place[within] * tensors + tensor[within]) * visits + a.visit[within])
    right, at_b = _keys((b.place * tensors + b.tensor) * visits + b.visit)
    if np.array_equal(left, right):
        return within[at_a], at_b
    _, i, j = np.intersect1d(left, right, assume_unique=True, return_indices=True)
    return within[at_a[i]], at_b[j]


def _keys(keys: Array) -> tuple[Array, Array]:
    """Distinct keys, ascending, and where the last of each is."""
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    last = np.append(keys[1:] != keys[:-1], True)[: len(keys)]
    return keys[last], order[last]


def _distinct(keys: Array) -> Array:
    """Ascending; rows come nearly in that order, so that sorting them beats NumPy's hashing tenfold."""
    keys = np.sort(keys, kind="stable")
    return np.asarray(keys[np.append(True, keys[1:] != keys[:-1])[: len(keys)]])


def graphs_by_place(run: RunIndex, seen: Array, steps: int) -> list[tuple[str, ...]]:
    """The ids of the graphs at each step, in the order of their first capture."""
    graphs: list[list[str]] = [[] for _ in range(steps)]
    tensors = run.catalog.tensors
    graph = tensors.columns(len(tensors))[0][seen[:, 1]]
    _, first = np.unique(seen[:, 0] * max(len(tensors.graphs), 1) + graph, return_index=True)
    first.sort()
    for place, code in zip(seen[first, 0].tolist(), graph[first].tolist(), strict=True):
        graphs[place].append(tensors.graphs[code] or NO_GRAPH)
    return [tuple(found) for found in graphs]


def merged(maps: Sequence[CodeMap], tensors: int) -> Array:
    """`partner` of all graphs together."""
    partner = np.full(tensors, -1, np.int64)
    for each in maps:
        known = each.partner >= 0
        partner[: len(known)][known] = each.partner[known]
    return partner
