"""Steps x scopes of one statistic: where and when a run turned bad, on one page.

A cell shows the worst of its snapshots.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from tensortap.core.deadline import check_time_limit
from tensortap.core.dtypes import Array, Floats
from tensortap.core.errors import SelectionError

from ..catalog.catalog import Catalog
from ..catalog.columns import Coded
from ..graph.graph_index import GraphIndex
from ..query.step_range import parse_steps
from ..query.tensor_lookup import worker_code
from ..run_index import RunIndex
from .scope_tree import ScopeRow, scope_rows
from .statistic_values import FINE, NAN, SHARES, TIMELINE_STATISTICS, health_of, values_of

# Ops whose zeros do not count as dead: inputs of a program, and constants.
_GIVEN = {"_Arg", "IteratorGetNext", "Placeholder", "PlaceholderWithDefault", "ReadVariableOp", "Variable"}
_GIVEN |= {"VariableV2", "Const", "Fill", "MatrixBandPart", "OneHot", "OnesLike", "ZerosLike"}
# And ops that make no other numbers of it.
_PASS_THROUGH_OPS = {"BroadcastTo", "Cast", "ExpandDims", "Identity", "Reshape", "Squeeze", "Transpose"}
_PASS_THROUGH_DOUBLINGS = 3  # doubled each time
_FEWEST = 3  # tensors of a scope that is more than an op


@dataclass(frozen=True, slots=True)
class Timeline:
    """Rows, columns, and row-major arrays [rows × columns] of the snapshot shown in each cell: that of the
    worst tensor in the row, at the steps of the column.

    Attributes:
        rows: a tree in data flow order (see `scope_rows`); of the whole graph scopes first.
        nodes: how many captured ones each row holds.
        left_out: rows beyond `limit`.
        node: the name of a row's only node, else empty.
        first, last: the steps that each column spans.
        value: the statistic; NaN where nothing was captured, nothing finite, or nothing that counts.
        health: 0 nothing captured, or not counted, 1 fine, 2 an infinity, 3 a NaN. bad: elements like that.
        step, visit: of the snapshot; -1 for none. tensor: its name; empty for none.
    """

    rows: list[ScopeRow]
    left_out: int
    nodes: list[int]
    node: list[str]
    first: Array
    last: Array
    value: Floats
    health: Array
    bad: Floats
    step: Floats
    visit: Floats
    tensor: Coded


def timeline(
    run: RunIndex,
    graph_id: str,
    statistic: str,
    *,
    scope: str = "",
    rows: int = 40,
    limit: int | None = None,
    columns: int = 600,
    steps: object = None,
    worker: str | None = None,
    opened: Collection[str] = (),
    closed: Collection[str] = (),
) -> Timeline:
    """A statistic of the tensors below a scope, over the steps of a graph.

    A cell shows its worst tensor: the largest number, for `min` the smallest, for `mean` the furthest from 0.
    Integers, and tensors whose number is the same at all steps, only count in cells without others: random
    bits and the -1e38 of an attention's mask would hide all that happens. Cells of integers have no number
    unless all cells are. % zeros is that of floating point tensors of several elements that are computed: a
    mean over weights and inputs would hide a layer that dies.

    Args:
        statistic: one of `TIMELINE_STATISTICS`, of a tensor's finite elements; shares are of all of them.
        scope: a display path; empty for the whole graph.
        rows, opened, closed: which scopes are open, see `scope_rows`.
        limit: maximum number of rows, the first ones; memory grows with rows times columns.
        columns: more steps than that share columns.
        steps: a range (see `parse_steps`); all by default.

    Raises:
        NotFoundError: no such graph or worker. SelectionError: no such statistic, or no range of steps.
    """
    if statistic not in TIMELINE_STATISTICS:
        raise SelectionError(
            f"There is no timeline of {statistic[:80]!r}.", f"Use one of {', '.join(TIMELINE_STATISTICS)}."
        )
    graph = run.graph(graph_id)
    tensors, nodes = _captured(run.catalog, graph, graph_id)
    paths = [graph.paths[node] for node in nodes.tolist()]
    whole = scope_rows(paths, scope, rows, opened=opened, closed=closed)
    if not scope:
        whole = _scopes_first(whole)
    found = whole[:limit]
    at = parse_steps(steps).of(run.steps_of(graph_id).step)
    held = np.arange(len(at)) * min(columns, len(at)) // max(1, len(at))
    starts = np.flatnonzero(np.diff(held, prepend=-1))
    row_of = _row_of(len(tensors), found)
    catalog, computed = run.catalog, _computed(graph)[nodes]
    picks = _Picks(catalog, tensors[row_of >= 0], at, worker)
    changing = _changing(catalog, statistic, tensors, picks)

    def placed(picked: Array) -> tuple[Candidates, Array, Array]:
        """Some rows of the catalog as candidates, and their rows and columns."""
        place = _place_of(catalog, tensors, picked)
        column = held[np.searchsorted(at, catalog.column("step", picked))]
        each = candidates(catalog, picked, statistic, place, computed[place], changing[place])
        return each, row_of[place], column

    picked = np.zeros(0, np.int64)
    for some in picks:
        picked = np.append(picked, some)
        if len(picks) > 1:  # of those so far, the worst of each cell is enough
            each, row, column = placed(picked)
            cell = row * len(starts) + column
            worst = each.worst(np.arange(len(picked)), cell, len(found) * len(starts))
            picked = np.sort(picked[worst[worst >= 0]])
    cell_candidates, row, column = placed(picked)
    chosen = _choose_cells(cell_candidates, row, column, found, len(starts))
    members = [np.unique(nodes[row.members]) for row in found]
    return Timeline(
        rows=found,
        left_out=len(whole) - len(found),
        nodes=[len(member) for member in members],
        node=[graph.names[member[0]] if len(member) == 1 else "" for member in members],
        first=at[starts],
        last=at[np.append(starts[1:], len(at)) - 1] if len(at) else at,
        **_cell_columns(run.catalog, cell_candidates, chosen),
    )


def _scopes_first(rows: list[ScopeRow]) -> list[ScopeRow]:
    """The model and other scopes of more than two ops, each with its members, before all others."""
    starts = [at for at, row in enumerate(rows) if row.depth == 0]
    blocks = [rows[start:end] for start, end in pairwise([*starts, len(rows)])]
    blocks.sort(key=lambda block: block[0].kind != "scope" or len(block[0].members) < _FEWEST)
    return [row for block in blocks for row in block]


def _computed(graph: GraphIndex) -> Array:
    """Whether nodes compute something, bool [nodes]; the others only forward."""
    data = np.flatnonzero((graph.edges.input == 0) & (graph.edges.control == 0))
    source = np.arange(len(graph))
    source[graph.edges.target[data]] = graph.edges.source[data]
    source = np.where(graph.op_type.where(_PASS_THROUGH_OPS.__contains__), source, np.arange(len(graph)))
    for _ in range(_PASS_THROUGH_DOUBLINGS):
        source = source[source]
    return ~graph.op_type.where(_GIVEN.__contains__)[source]


def _captured(catalog: Catalog, graph: GraphIndex, graph_id: str) -> tuple[Array, Array]:
    """Codes of the captured tensors in data flow order, and the rows of their nodes in the graph."""
    codes = catalog.tensors.in_graph(graph_id)
    names, _ = catalog.tensors.nodes_and_slots(codes)
    rows = np.array([graph.rows.get(name, -1) for name in names], np.int64)
    codes, rows = codes[rows >= 0], rows[rows >= 0]
    order = np.argsort(graph.order[rows], kind="stable")
    return codes[order], rows[order]


def _row_of(tensors: int, rows: list[ScopeRow]) -> Array:
    """The innermost row of each tensor, int64 [tensors]; -1 for none."""
    found = np.full(tensors, -1, np.int64)
    for i, row in enumerate(rows):  # which comes last
        found[row.members] = i
    return found


class _Picks:
    """The rows of the catalog with the snapshots of some tensors at some steps, a block at a time."""

    def __init__(self, catalog: Catalog, tensors: Array, steps: Array, worker: str | None) -> None:
        self._catalog, self._tensors, self._steps = catalog, tensors, steps
        self._worker = None if worker is None else worker_code(catalog, worker)
        self._blocks = list(catalog.blocks())
        self._only = [self._pick(self._blocks[0])] if len(self._blocks) == 1 else None

    def __len__(self) -> int:
        return len(self._blocks)

    def __iter__(self) -> Iterator[Array]:
        for block in self._blocks if self._only is None else ():
            check_time_limit()
            yield self._pick(block)
        yield from self._only or ()

    def _pick(self, block: slice) -> Array:
        catalog = self._catalog
        tensor = catalog.column("tensor", block)
        wanted = np.zeros(1 + max(tensor.max(initial=-1), self._tensors.max(initial=-1)), np.bool_)
        wanted[self._tensors] = True
        rows = block.start + np.flatnonzero(wanted[tensor])
        if self._worker is not None:
            rows = rows[catalog.column("worker", rows) == self._worker]
        found: Array = rows[np.isin(catalog.column("step", rows), self._steps)]  # one may just have appeared
        return found


def _place_of(catalog: Catalog, tensors: Array, picked: Array) -> Array:
    """The position in `tensors` of the tensor in each row of the catalog."""
    place = np.zeros(1 + tensors.max(initial=-1), np.int64)
    place[tensors] = np.arange(len(tensors))
    found: Array = place[catalog.column("tensor", picked)]
    return found


def _choose_cells(
    cell_candidates: Candidates, row: Array, column: Array, rows: list[ScopeRow], width: int
) -> Array:
    """The candidate shown in each cell, int64 [rows × columns], -1 for none. An expanded row shows the worst
    of all tensors in it, also of those without rows."""
    chosen = cell_candidates.worst(np.arange(len(row)), row * width + column, len(rows) * width)
    chosen = chosen.reshape(len(rows), width)
    for i in range(len(rows) - 1, -1, -1):
        if rows[i].is_open:
            end = next((j for j in range(i + 1, len(rows)) if rows[j].depth <= rows[i].depth), len(rows))
            inside, at = np.nonzero(chosen[i:end] >= 0)
            chosen[i] = cell_candidates.worst(chosen[i:end][inside, at], at, width)
    return chosen.ravel()


def _cell_columns(catalog: Catalog, cell_candidates: Candidates, chosen: Array) -> dict[str, Any]:
    """Columns of the candidates that were chosen for the cells."""
    step, visit, tensor = (catalog.column(name, cell_candidates.row) for name in ("step", "visit", "tensor"))
    value = _taken(cell_candidates.value, chosen, np.nan)
    floating = _taken(_floating(catalog, cell_candidates.row), chosen, False)
    if np.isfinite(value[floating]).any():  # random bits would stretch the scale of all rows
        value[~floating] = np.nan
    return {
        "value": value,
        "health": _taken(cell_candidates.health, chosen, 0).astype(np.uint8),
        "bad": _taken(cell_candidates.bad, chosen, 0),
        "step": _taken(step, chosen, -1).astype(np.float64),
        "visit": _taken(visit, chosen, -1).astype(np.float64),
        "tensor": _names(catalog, _taken(tensor, chosen, -1)),
    }


def _taken(values: Array, chosen: Array, missing: float) -> Array:
    """The value of each chosen candidate, or `missing`."""
    return np.append(values, np.array([missing], values.dtype))[chosen]


def _names(catalog: Catalog, tensors: Array) -> Coded:
    """Names of tensors by their codes; empty for -1."""
    codes, names = np.unique(tensors, return_inverse=True)
    texts = ["" if code < 0 else catalog.tensors.names[code] for code in codes.tolist()]
    return Coded(names.astype(np.int32), texts)


@dataclass(frozen=True, slots=True)
class Candidates:
    """Snapshots from which the one of a cell is chosen, arrays [snapshots].

    Attributes:
        row: rows of the catalog. value: the statistic; NaN if unknown, or does not count.
        health: 0 unknown, 1 fine, 2 an infinity, 3 a NaN. bad: how many elements are that.
        keys: what makes one worse than another, the weightiest first; the largest is the worst.
    """

    row: Array
    value: Floats
    health: Array
    bad: Floats
    keys: tuple[Floats, ...]

    def worst(self, at: Array, cell: Array, count: int) -> Array:
        """The candidate, among those `at`, for each of `count` cells, int64 [count]; -1 for none.

        A NaN before an infinity, the first of these; else the worst value, and where it first was.
        """
        found = np.full(count, -1, np.int64)
        for key in self.keys:
            largest = np.full(count, -np.inf)
            np.maximum.at(largest, cell, key[at])
            kept = key[at] == largest[cell]
            at, cell = at[kept], cell[kept]
        found[cell] = at
        return found


def candidates(
    catalog: Catalog, row: Array, statistic: str, place: Array, computed: Array, changing: Array
) -> Candidates:
    """Values of some rows of the catalog, as candidates for cells.

    Args:
        statistic: one of `TIMELINE_STATISTICS`.
        place: where each row's tensor is in the data flow.
        computed: whether each row's tensor is. % zeros only counts for these, where they are
            floating point and have several elements.
        changing: whether its tensor has several values.
    """

    def column(name: str) -> Floats:
        return np.asarray(catalog.column(name, row), np.float64)

    health, value = health_of(catalog, row), values_of(catalog, row, statistic)
    if statistic == "zero_share":
        value = np.where(computed & (column("size") > 1) & _floating(catalog, row), value, np.nan)
    bad = np.where(health == NAN, column("nan"), column("pos_inf") + column("neg_inf"))
    score = {"min": -value, "mean": np.abs(value)}.get(statistic, value)
    score = np.where(health > FINE, 0.0, np.where(np.isnan(score), -np.inf, score))
    order = -column("step"), -place.astype(np.float64), -column("visit")
    # A layer that is dead at all steps is what one looks for among shares.
    counts = (statistic in SHARES) | (changing & _floating(catalog, row))
    keys = (health.astype(np.float64), counts.astype(np.float64), score, *order)
    return Candidates(row, value, health, bad, keys)


def _changing(catalog: Catalog, statistic: str, tensors: Array, picks: Iterable[Array]) -> Array:
    """Which tensors have several values, bool [tensors]."""
    low = np.full(len(tensors), np.inf)
    high = -low
    for picked in picks if statistic not in SHARES else ():
        place, value = _place_of(catalog, tensors, picked), values_of(catalog, picked, statistic)
        np.fmin.at(low, place, value)
        np.fmax.at(high, place, value)
    found: Array = high > low
    return found


def _floating(catalog: Catalog, row: Array) -> Array:
    floating = np.array([name.startswith(("float", "bfloat")) for name in catalog.dtypes.values], np.bool_)
    found: Array = floating[catalog.column("dtype", row)]
    return found
