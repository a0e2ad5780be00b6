"""Steps x scopes of one statistic: where and when a run turned bad, on one page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tensortap.dump import SelectionError

from .catalog import Catalog
from .choose import worker_code
from .graph import GraphIndex
from .run import RunIndex
from .scope_rows import ScopeRow, scope_rows
from .steps import parse_steps
from .unknown import unknown_counts

Array = np.ndarray[Any, np.dtype[Any]]
Floats = np.ndarray[Any, np.dtype[np.float64]]

FINE, INF, NAN = 1, 2, 3
# Shares are parts of all elements of a cell, the others the largest (or smallest) of any tensor in it.
_SHARES = {"zero_share": ("zero",), "nan_share": ("nan",), "inf_share": ("pos_inf", "neg_inf")}
_EXTREMES: dict[str, np.ufunc] = {
    "min": np.fmin,
    "max": np.fmax,
    "abs_max": np.fmax,
    "std": np.fmax,
    "l2": np.fmax,
}
TIMELINE_STATISTICS = (*_EXTREMES, "mean", *_SHARES)


@dataclass(frozen=True, slots=True)
class Timeline:
    """Row-major matrices `[rows, columns]`: `value` (NaN: nothing captured, or nothing finite) and `health`
    (0 nothing captured, 1 fine, 2 an infinity, 3 a NaN).

    Attributes:
        rows: in data flow order, a scope where its last node is. nodes: how many captured ones each row
            holds. node: the name of a row's only node, else empty.
        first, last: the steps that each column spans.
        bad: the first step of a cell that holds its worst health; -1 for none.
    """

    rows: list[ScopeRow]
    nodes: list[int]
    node: list[str]
    first: Array
    last: Array
    value: Floats
    health: Array
    bad: Array


def timeline(
    run: RunIndex,
    graph_id: str,
    statistic: str,
    *,
    scope: str = "",
    rows: int = 40,
    columns: int = 600,
    steps: object = None,
    worker: str | None = None,
) -> Timeline:
    """A statistic of what lies below a scope, over the steps of a graph.

    Args:
        statistic: one of `TIMELINE_STATISTICS`. `mean`: of all finite elements.
        scope: a display path; empty for the whole graph.
        rows: scopes are opened, the largest first, while the rows are no more than that.
        columns: more steps than that share columns.
        steps: a range (see `parse_steps`); all by default.

    Raises:
        NotFoundError: no such graph or worker. SelectionError: no such statistic, or no range of steps.
    """
    if statistic not in TIMELINE_STATISTICS:
        raise SelectionError(
            f"There is no timeline of {statistic[:80]!r}.", f"Use one of {', '.join(TIMELINE_STATISTICS)}."
        )
    catalog, graph = run.catalog, run.graph(graph_id)
    tensors, nodes = _captured(catalog, graph, graph_id)
    order = np.argsort(graph.order[nodes], kind="stable")
    tensors, nodes = tensors[order], nodes[order]
    found = scope_rows([graph.paths[node] for node in nodes.tolist()], scope, rows)
    at = parse_steps(steps).of(run.steps_of(graph_id).step)
    held = np.arange(len(at)) * min(columns, len(at)) // max(1, len(at))
    starts = np.flatnonzero(np.diff(held, prepend=-1))
    cells = _Cells(catalog, _row_of(len(catalog.tensors), tensors, found), at, held, len(found), worker)
    members = [np.unique(nodes[row.members]) for row in found]
    return Timeline(
        rows=found,
        nodes=[len(member) for member in members],
        node=[graph.names[member[0]] if len(member) == 1 else "" for member in members],
        first=at[starts],
        last=at[np.append(starts[1:], len(at)) - 1] if len(at) else at,
        value=cells.value(statistic),
        health=cells.health,
        bad=cells.bad,
    )


def _captured(catalog: Catalog, graph: GraphIndex, graph_id: str) -> tuple[Array, Array]:
    """Codes of the captured tensors, and the rows of their nodes in the graph."""
    codes = catalog.tensors.in_graph(graph_id)
    names, _ = catalog.tensors.nodes_and_slots(codes)
    rows = np.array([graph.rows.get(name, -1) for name in names], np.int64)
    return codes[rows >= 0], rows[rows >= 0]


def _row_of(count: int, tensors: Array, rows: list[ScopeRow]) -> Array:
    """The timeline's row of every tensor code, -1 for none."""
    row_of = np.full(count, -1, np.int64)
    for i, row in enumerate(rows):
        row_of[tensors[row.members]] = i
    return row_of


class _Cells:
    """The snapshots of a timeline by the cell that each falls into."""

    def __init__(
        self, catalog: Catalog, row_of: Array, steps: Array, held: Array, height: int, worker: str | None
    ) -> None:
        self._catalog = catalog
        self._count = height * (int(held[-1]) + 1 if len(held) else 0)
        tensor = catalog.column("tensor", slice(0, catalog.rows))
        # A tensor, or a step, may just have appeared.
        known = tensor < len(row_of)
        rows = np.flatnonzero(known)[row_of[tensor[known]] >= 0]
        if worker is not None:
            rows = rows[catalog.column("worker", rows) == worker_code(catalog, worker)]
        step = catalog.column("step", rows)
        at = np.searchsorted(steps, step)
        seen = np.isin(step, steps)
        self._rows, self._step = rows[seen], step[seen]
        width = int(held[-1]) + 1 if len(held) else 0
        self._cell = row_of[tensor[self._rows]] * width + held[at[seen]]
        self.health, self.bad = self._health()

    def _column(self, name: str) -> Array:
        return self._catalog.column(name, self._rows)

    def _unknown(self, *names: str) -> Array:
        """Which rows do not tell one of these counts."""
        unknown = unknown_counts(self._catalog, self._rows)
        masks = [unknown[name] for name in names if name in unknown]
        return np.logical_or.reduce(masks) if masks else np.zeros(len(self._rows), np.bool_)

    def _sum(self, values: Array) -> Floats:
        sums: Floats = np.asarray(np.bincount(self._cell, values, self._count), np.float64)
        return sums

    def _health(self) -> tuple[Array, Array]:
        infinite = (self._column("pos_inf") > 0) | (self._column("neg_inf") > 0)
        each = np.where(self._column("nan") > 0, NAN, np.where(infinite, INF, FINE))
        each = np.where((each == FINE) & self._unknown("nan", "pos_inf", "neg_inf"), 0, each)
        health = np.zeros(self._count, np.int64)
        np.maximum.at(health, self._cell, each)
        worst = np.flatnonzero((each > FINE) & (each == health[self._cell]))
        bad = np.full(self._count, np.iinfo(np.int64).max)
        np.minimum.at(bad, self._cell[worst], self._step[worst])
        return health.astype(np.uint8), np.where(health > FINE, bad, -1).astype(np.float64)

    def value(self, statistic: str) -> Floats:
        """The statistic of every cell."""
        with np.errstate(invalid="ignore", divide="ignore"):
            if statistic in _SHARES:
                part = sum(self._column(name).astype(np.float64) for name in _SHARES[statistic])
                part = np.where(self._unknown("size", *_SHARES[statistic]) & (part == 0), np.nan, part)
                return self._sum(np.asarray(part)) / self._sum(self._column("size"))
            if statistic == "mean":
                return self._mean()
        values = np.full(self._count, np.nan)
        _EXTREMES[statistic].at(values, self._cell, self._column(statistic))
        return values

    def _mean(self) -> Floats:
        """Weighted by finite elements."""
        bad = sum(self._column(name).astype(np.float64) for name in ("nan", "pos_inf", "neg_inf"))
        finite = self._column("size") - bad
        means = np.where(finite > 0, self._column("mean"), 0.0)
        return self._sum(means * finite) / self._sum(finite)
