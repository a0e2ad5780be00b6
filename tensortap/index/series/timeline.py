"""Steps x scopes of one statistic: where and when a run turned bad, on one page."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np

from tensortap.core.dtypes import Array, Floats
from tensortap.core.errors import SelectionError

from ..catalog.catalog import Catalog
from ..catalog.columns import Coded
from ..graph.graph_index import GraphIndex
from ..query.step_range import parse_steps
from ..query.tensor_lookup import worker_code
from ..run_index import RunIndex
from .scope_tree import ScopeRow, scope_rows
from .snapshot_values import TIMELINE_STATISTICS
from .timeline_cells import Candidates, candidates

# Ops whose outputs do not die, however many zeros they have: what a program is given, and constants.
_GIVEN = {"_Arg", "IteratorGetNext", "Placeholder", "PlaceholderWithDefault", "ReadVariableOp", "Variable"}
_GIVEN |= {"VariableV2", "Const", "Fill", "MatrixBandPart", "OneHot", "OnesLike", "ZerosLike"}
# And ops that make no other numbers of it.
_HANDED_ON = {"BroadcastTo", "Cast", "ExpandDims", "Identity", "Reshape", "Squeeze", "Transpose"}
_HANDS = 3  # doubled each time


@dataclass(frozen=True, slots=True)
class Timeline:
    """Rows, columns, and row-major arrays [rows × columns] of the snapshot that stands for each cell: that of
    the worst tensor in the row, at the steps of the column.

    Attributes:
        rows: a tree in data flow order (see `scope_rows`). nodes: how many captured ones each row holds.
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
    """A statistic of what lies below a scope, over the steps of a graph.

    A cell shows its worst tensor: the largest number, for `min` the smallest, for `mean` the furthest from 0.
    The share of zeros is that of floating point tensors of several elements that are computed: a mean over
    weights and inputs would hide a layer that dies.

    Args:
        statistic: one of `TIMELINE_STATISTICS`, of a tensor's finite elements; shares are of all of them.
        scope: a display path; empty for the whole graph.
        rows, opened, closed: which scopes are open, see `scope_rows`.
        limit: at most so many rows, the first ones: memory is of these, times the columns.
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
    found = whole[:limit]
    at = parse_steps(steps).of(run.steps_of(graph_id).step)
    held = np.arange(len(at)) * min(columns, len(at)) // max(1, len(at))
    starts = np.flatnonzero(np.diff(held, prepend=-1))
    row_of = _row_of(len(tensors), found)
    picked = _picked(run.catalog, tensors[row_of >= 0], at, worker)
    place = _place_of(run.catalog, tensors, picked)
    told = candidates(run.catalog, picked, statistic, place, _computed(graph)[nodes[place]])
    column = held[np.searchsorted(at, run.catalog.column("step", picked))]
    chosen = _chosen(told, row_of[place], column, found, len(starts))
    members = [np.unique(nodes[row.members]) for row in found]
    return Timeline(
        rows=found,
        left_out=len(whole) - len(found),
        nodes=[len(member) for member in members],
        node=[graph.names[member[0]] if len(member) == 1 else "" for member in members],
        first=at[starts],
        last=at[np.append(starts[1:], len(at)) - 1] if len(at) else at,
        **_cells(run.catalog, told, chosen),
    )


def _computed(graph: GraphIndex) -> Array:
    """Which nodes compute something, bool [nodes]: others hand on what is given."""
    data = np.flatnonzero((graph.edges.input == 0) & (graph.edges.control == 0))
    source = np.arange(len(graph))
    source[graph.edges.target[data]] = graph.edges.source[data]
    source = np.where(graph.op_type.where(_HANDED_ON.__contains__), source, np.arange(len(graph)))
    for _ in range(_HANDS):
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
    """The row furthest in that holds each tensor, int64 [tensors]; -1 for none."""
    found = np.full(tensors, -1, np.int64)
    for i, row in enumerate(rows):  # that stands last
        found[row.members] = i
    return found


def _picked(catalog: Catalog, tensors: Array, steps: Array, worker: str | None) -> Array:
    """The rows of the catalog with the snapshots of some tensors at some steps."""
    tensor = catalog.column("tensor", slice(0, catalog.rows))
    wanted = np.zeros(1 + max(tensor.max(initial=-1), tensors.max(initial=-1)), np.bool_)
    wanted[tensors] = True
    rows = np.flatnonzero(wanted[tensor])
    if worker is not None:
        rows = rows[catalog.column("worker", rows) == worker_code(catalog, worker)]
    return rows[np.isin(catalog.column("step", rows), steps)]  # a step may just have appeared


def _place_of(catalog: Catalog, tensors: Array, picked: Array) -> Array:
    """Where the tensor of each row of the catalog stands in `tensors`."""
    place = np.zeros(1 + tensors.max(initial=-1), np.int64)
    place[tensors] = np.arange(len(tensors))
    found: Array = place[catalog.column("tensor", picked)]
    return found


def _chosen(told: Candidates, row: Array, column: Array, rows: list[ScopeRow], width: int) -> Array:
    """Which candidate stands for each cell, int64 [rows × columns], -1 for none. An open row shows the worst
    of those in it, and of its own, whose rows are left out."""
    chosen = told.worst(np.arange(len(row)), row * width + column, len(rows) * width)
    chosen = chosen.reshape(len(rows), width)
    for i in range(len(rows) - 1, -1, -1):
        if rows[i].is_open:
            end = next((j for j in range(i + 1, len(rows)) if rows[j].depth <= rows[i].depth), len(rows))
            inside, at = np.nonzero(chosen[i:end] >= 0)
            chosen[i] = told.worst(chosen[i:end][inside, at], at, width)
    return chosen.ravel()


def _cells(catalog: Catalog, told: Candidates, chosen: Array) -> dict[str, Any]:
    """What a timeline tells of the candidates that stand for its cells."""
    step, visit, tensor = (catalog.column(name, told.row) for name in ("step", "visit", "tensor"))
    return {
        "value": _taken(told.value, chosen, np.nan),
        "health": _taken(told.health, chosen, 0).astype(np.uint8),
        "bad": _taken(told.bad, chosen, 0),
        "step": _taken(step, chosen, -1).astype(np.float64),
        "visit": _taken(visit, chosen, -1).astype(np.float64),
        "tensor": _names(catalog, _taken(tensor, chosen, -1)),
    }


def _taken(values: Array, chosen: Array, missing: float) -> Array:
    """The value of each chosen candidate; `missing` where there is none."""
    return np.append(values, np.array([missing], values.dtype))[chosen]


def _names(catalog: Catalog, tensors: Array) -> Coded:
    """Names of tensors by their codes; empty for -1."""
    codes, names = np.unique(tensors, return_inverse=True)
    texts = ["" if code < 0 else catalog.tensors.names[code] for code in codes.tolist()]
    return Coded(names.astype(np.int32), texts)
