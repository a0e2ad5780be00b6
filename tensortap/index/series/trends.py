"""Trends: how one statistic develops over the steps, in a few numbers, for many tensors or nodes at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tensortap.core.dtypes import Array, Floats
from tensortap.core.errors import SelectionError
from tensortap.core.names import tensor_name

from ..catalog.catalog import Catalog
from ..catalog.decode import STATISTICS_COLUMNS
from ..graph.graph_index import GraphIndex
from ..query.step_range import parse_steps
from ..query.tensor_lookup import worker_code
from ..run_index import RunIndex
from ..snapshot import Snapshot
from .statistic_values import TIMELINE_STATISTICS, health_of, thin, values_of


@dataclass(frozen=True, slots=True)
class Trend:
    """Places along the steps of one tensor of one graph, ascending, from the first to the last one captured.

    Attributes:
        step: int64 [places]. value: the statistic at that step, float64 [places].
        bad: whether a snapshot since the place before held a NaN or an infinity, bool [places].
    """

    step: Array
    value: Array
    bad: Array


def trends(
    run: RunIndex, found: Sequence[Snapshot], statistic: str, *, worker: str | None = None, places: int = 32
) -> list[Trend]:
    """The trend of each snapshot's tensor.

    Args:
        statistic: one of `STATISTICS_COLUMNS`.
        worker: only this worker's snapshots.
        places: maximum number per tensor, evenly spread.

    Raises:
        SelectionError: the statistic does not exist.
    """
    if statistic not in STATISTICS_COLUMNS:
        known = ", ".join(STATISTICS_COLUMNS)
        raise SelectionError(f"{statistic[:80]!r} is not a statistic.", f"Use one of {known}.")
    catalog = run.catalog
    codes = catalog.column("tensor", np.array([snapshot.row for snapshot in found], np.int64)).tolist()
    distinct = sorted(set(codes))
    lines = dict(zip(distinct, _lines(catalog, distinct, statistic, worker, places), strict=True))
    return [lines[code] for code in codes]


def _lines(
    catalog: Catalog, codes: Sequence[int], statistic: str, worker: str | None, places: int
) -> list[Trend]:
    """The trend of each tensor. Columns are looked up for all at once: lookups cost more than rows."""
    rows = [_rows(catalog, code, worker) for code in codes]
    step = _split(catalog.column("step", np.concatenate([np.zeros(0, np.int64), *rows])), rows)
    by_step = [np.argsort(steps, kind="stable") for steps in step]
    rows = [each[order] for each, order in zip(rows, by_step, strict=True)]
    at = [thin(len(each), places) for each in rows]
    chosen = [each[places] for each, places in zip(rows, at, strict=True)]
    value = _split(catalog.column(statistic, np.concatenate([np.zeros(0, np.int64), *chosen])), chosen)
    steps = [each[order][places] for each, order, places in zip(step, by_step, at, strict=True)]
    return [
        Trend(steps[i].astype(np.int64), value[i].astype(np.float64), _bad(catalog, code, rows[i], at[i]))
        for i, code in enumerate(codes)
    ]


def _rows(catalog: Catalog, code: int, worker: str | None) -> Array:
    rows = catalog.rows_of_tensor(code)
    if worker is None:
        return rows
    known = catalog.workers.code(worker)
    of_worker: Array = rows[catalog.column("worker", rows) == (-1 if known is None else known)]
    return of_worker


def _split(values: Array, like: Sequence[Array]) -> list[Array]:
    """The parts of `values` that are as long as the arrays of `like`."""
    return np.split(values, np.cumsum([len(each) for each in like])[:-1]) if like else []


def _bad(catalog: Catalog, code: int, rows: Array, at: Array) -> Array:
    """Whether the rows of each bucket have NaN or infinities. `at` has the last row of each bucket."""
    if not catalog.tensors.nonfinite.of(code) or not len(at):
        return np.zeros(len(at), np.bool_)
    counts = [catalog.column(name, rows) > 0 for name in ("nan", "pos_inf", "neg_inf")]
    until = np.concatenate(([0], np.cumsum(np.logical_or.reduce(counts))[at]))
    found: Array = np.diff(until) > 0
    return found


@dataclass(frozen=True, slots=True)
class NodeTrends:
    """One row per bucket of a node's steps, nodes in the requested order, steps ascending; arrays [rows].

    Attributes:
        node: row of the node in the graph, int32. step: the first one that the place spans, int64.
        value: the strongest of all tensors and visits in the place (the largest; of `min` the smallest, of
            `mean` the farthest from 0), float64; NaN where nothing is finite.
        health: the worst in the place, uint8: 0 not counted, 1 fine, 2 an infinity, 3 a NaN.
    """

    node: Array
    step: Array
    value: Floats
    health: Array


def node_trends(
    run: RunIndex,
    graph_id: str,
    nodes: Sequence[int],
    statistic: str,
    *,
    places: int = 48,
    steps: object = None,
    worker: str | None = None,
) -> NodeTrends:
    """The trends of some nodes of a graph; those that were not captured have no rows.

    Args:
        nodes: rows of the graph. statistic: one of `TIMELINE_STATISTICS`.
        places: maximum number of buckets per node; buckets share steps, so no extreme is skipped.
        steps: a range (see `parse_steps`); all by default. worker: only this worker's snapshots.

    Raises:
        NotFoundError: no such graph or worker. SelectionError: no such statistic, node, or range of steps.
    """
    if statistic not in TIMELINE_STATISTICS:
        raise SelectionError(
            f"There is no trend of {statistic[:80]!r}.", f"Use one of {', '.join(TIMELINE_STATISTICS)}."
        )
    graph, catalog = run.graph(graph_id), run.catalog
    wrong = [node for node in nodes if not 0 <= node < len(graph)]
    if wrong:
        raise SelectionError(f"The graph has no node {wrong[0]}.", f"Rows range from 0 to {len(graph) - 1}.")
    at, rows = _snapshots(catalog, graph, graph_id, nodes)
    step = catalog.column("step", rows)
    within = parse_steps(steps)
    kept = (step >= within.first) & (step < within.stop)
    if worker is not None:
        kept &= catalog.column("worker", rows) == worker_code(catalog, worker)
    at, rows, step = at[kept], rows[kept], step[kept]
    order = np.lexsort((step, at))
    at, rows, step = at[order], rows[order], step[order]
    starts = _place_starts(at, step, places)
    return NodeTrends(
        np.asarray(nodes, np.int32)[at[starts]],
        step[starts].astype(np.int64),
        _strongest(values_of(catalog, rows, statistic), statistic, starts),
        _worst(health_of(catalog, rows), starts),
    )


def _snapshots(
    catalog: Catalog, graph: GraphIndex, graph_id: str, nodes: Sequence[int]
) -> tuple[Array, Array]:
    """(which of the nodes, row of the catalog) of each snapshot, by node."""
    found, slots = [np.zeros(0, np.int64)], graph.slots
    for node in nodes:
        names = [tensor_name(graph.names[node], slot) for slot in range(max(1, int(slots[node])))]
        codes = [code for name in names for code in catalog.tensors.named(name)]
        inside = [code for code in codes if catalog.tensors.graph_of(code) == graph_id]
        found.append(np.concatenate([found[0], *map(catalog.rows_of_tensor, inside)]))
    return np.repeat(np.arange(len(nodes)), [len(rows) for rows in found[1:]]), np.concatenate(found)


def _place_starts(at: Array, step: Array, places: int) -> Array:
    """Where each place begins, of snapshots ordered by node and step."""
    if not len(at):
        return np.zeros(0, np.int64)
    new_node = np.diff(at, prepend=-1) > 0
    new_step = new_node | (np.diff(step, prepend=-1) != 0)
    of_step = np.cumsum(new_step) - 1
    first = of_step[new_node]
    count = np.diff(np.append(first, of_step[-1] + 1))
    node = np.cumsum(new_node) - 1
    place = (of_step - first[node]) * np.minimum(count, places)[node] // count[node]
    return np.flatnonzero(new_node | (np.diff(place, prepend=-1) != 0))


def _strongest(values: Floats, statistic: str, starts: Array) -> Floats:
    """Strongest row of each group that begins at `starts`."""
    if not len(values):
        return values
    if statistic == "min":
        return np.asarray(np.fmin.reduceat(values, starts), np.float64)
    largest: Floats = np.asarray(np.fmax.reduceat(values, starts), np.float64)
    if statistic != "mean":
        return largest
    smallest: Floats = np.asarray(np.fmin.reduceat(values, starts), np.float64)
    return np.where(np.abs(smallest) > np.abs(largest), smallest, largest)


def _worst(health: Array, starts: Array) -> Array:
    return np.asarray(np.maximum.reduceat(health, starts)) if len(health) else health
