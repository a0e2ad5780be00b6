"""Statistics of the tensors of a graph: of each at one step, and the range of one over all steps.

`merge_statistics` merges those of several snapshots exactly: visits of one step, shards on several workers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tensortap.core.dtypes import Array, Floats
from tensortap.core.errors import NotFoundError, SelectionError
from tensortap.core.records import COUNTS

from ..catalog.catalog import Catalog
from ..catalog.columns import Coded
from ..catalog.decode import STATISTICS_COLUMNS
from ..graph.graph_index import GraphIndex
from ..query.tensor_lookup import worker_code
from ..run_index import RunIndex
from ..unknown_counts import unknown_counts
from .timeline import TIMELINE_STATISTICS, values_of


@dataclass(frozen=True, slots=True)
class StepStatistics:
    """One row a tensor. Columns: `node` (row in the graph), `slot`, `visits` (snapshots merged), int32;
    `size`, counts (NaN where they are not known) and statistics, float64; `dtype`; `kept` (a value is kept),
    uint8."""

    step: int
    columns: dict[str, Array | Coded]


def step_statistics(run: RunIndex, graph_id: str, step: int, *, worker: str | None = None) -> StepStatistics:
    """What was captured of a graph at a step, visits and workers merged.

    Args:
        worker: only this worker's snapshots.

    Raises:
        NotFoundError: no such graph, worker, or step. A step at which other graphs were captured has no rows.
    """
    graph, catalog = run.graph(graph_id), run.catalog
    code = catalog.steps.code(step)
    if code is None:
        steps = run.steps.step
        hint = f"Steps go from {steps[0]} to {steps[-1]}." if len(steps) else "There are no snapshots yet."
        raise NotFoundError(f"The run has no snapshot at step {step}.", hint)
    rows = catalog.rows_of_step(code)
    rows = rows[np.isin(catalog.column("tensor", rows), catalog.tensors.in_graph(graph_id))]
    if worker is not None:
        rows = rows[catalog.column("worker", rows) == worker_code(catalog, worker)]
    rows = rows[np.argsort(catalog.column("tensor", rows), kind="stable")]
    return StepStatistics(step, _merged(catalog, graph, rows))


def _merged(catalog: Catalog, graph: GraphIndex, rows: Array) -> dict[str, Array | Coded]:
    tensor = catalog.column("tensor", rows)
    starts = group_starts(tensor)
    nodes, slots = catalog.tensors.nodes_and_slots(tensor[starts])
    node_rows = np.array([graph.rows.get(node, -1) for node in nodes], np.int32)
    known = node_rows >= 0  # a node may just have appeared
    merged = merge_statistics({name: catalog.column(name, rows) for name in STATISTICS_COLUMNS}, starts)
    columns: dict[str, Array | Coded] = {
        "node": node_rows[known],
        "slot": slots.astype(np.int32)[known],
        "visits": np.diff(np.append(starts, len(rows))).astype(np.int32)[known],
    }
    numbers = {name: values.astype(np.float64) for name, values in merged.items()}
    for name, unknown in unknown_counts(catalog, rows).items():
        untold = np.logical_or.reduceat(unknown, starts)
        # A count above 0 is known to be at least that; a size is known or is not.
        numbers[name][untold if name == "size" else untold & (numbers[name] == 0)] = np.nan
    columns |= {name: values[known] for name, values in numbers.items()}
    dtypes = catalog.column("dtype", rows)[starts][known].astype(np.int32)
    columns["dtype"] = Coded(dtypes, list(catalog.dtypes.values))
    kept = catalog.column("kept", rows).astype(np.uint8)
    columns["kept"] = np.maximum.reduceat(kept, starts)[known] if len(rows) else kept
    return columns


Columns = Mapping[str, Array]


def group_starts(codes: Array) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Where each run of equal codes begins in a sorted array."""
    if not len(codes):
        return np.zeros(0, np.int64)
    return np.concatenate(([0], np.flatnonzero(codes[1:] != codes[:-1]) + 1))


def merge_statistics(columns: Columns, starts: Array) -> dict[str, Array]:
    """Adds up groups of rows; `starts` are the groups' first rows.

    Args:
        columns: `size`, the counts (integers) and the statistics (float64) of the rows.

    Returns:
        The same columns, one row a group: what one pass over all elements of a group gives, up to rounding.
    """
    merged: dict[str, Array] = {
        name: np.add.reduceat(_int64(columns[name]), starts) for name in ("size", *COUNTS)
    }
    if len(starts) == len(columns["size"]):
        return merged | {name: columns[name] for name in ("min", "max", "mean", "std", "l2", "abs_max")}
    for name, reduce in (("min", np.fmin), ("max", np.fmax), ("abs_max", np.fmax)):
        merged[name] = reduce.reduceat(columns[name], starts)
    merged["l2"] = _root_sum_squares(columns["l2"], starts)
    return merged | _pooled(columns, starts)


def finite_elements(columns: Columns) -> Array:
    """How many elements of each row are finite."""
    total: Array = _int64(columns["zero"]) + _int64(columns["negative"]) + _int64(columns["positive"])
    return total


def _pooled(columns: Columns, starts: Array) -> dict[str, Array]:
    """Mean and population standard deviation, weighted by finite elements."""
    finite = finite_elements(columns).astype(np.float64)
    lengths = np.diff(np.append(starts, len(finite)))
    total = np.add.reduceat(finite, starts)
    with np.errstate(invalid="ignore", divide="ignore"):
        weights = finite / np.repeat(total, lengths)
    used = finite > 0
    means = np.where(used, columns["mean"], 0.0)
    weights = np.where(used, weights, 0.0)
    mean = np.add.reduceat(weights * means, starts)
    off_mean = np.where(used, means - np.repeat(mean, lengths), 0.0)
    spread = np.hypot(np.where(used, columns["std"], 0.0), off_mean)
    std = _root_sum_squares(np.sqrt(weights) * spread, starts)
    empty = total == 0
    return {"mean": np.where(empty, np.nan, mean), "std": np.where(empty, np.nan, std)}


def _root_sum_squares(values: Array, starts: Array) -> Floats:
    """sqrt(sum of squares) of each group without overflow; NaN (no finite element) counts as nothing."""
    largest = np.fmax.reduceat(np.abs(values), starts)
    lengths = np.diff(np.append(starts, len(values)))
    scale = np.repeat(np.where((largest > 0) & np.isfinite(largest), largest, 1.0), lengths)
    with np.errstate(over="ignore"):
        squares = np.where(np.isnan(values), 0.0, (values / scale) ** 2)
        root = scale[starts] * np.sqrt(np.add.reduceat(squares, starts))
    return np.where(np.isnan(largest), np.nan, root)


def _int64(values: Array) -> np.ndarray[Any, np.dtype[np.int64]]:
    return values.astype(np.int64, copy=False)


_NEVER_NEGATIVE = ("std", "abs_max", "l2")
_LOW_PART, _HIGH_PART = 0.01, 0.99


@dataclass(frozen=True, slots=True)
class StatisticRange:
    """Of a statistic's finite values; of `std`, `abs_max` and `l2`, which span magnitudes, of those above
    0. NaN where there is none.

    Attributes:
        least, largest: of all. low, high: without the least and the largest hundredth.
        zeros: whether there were values of exactly 0.
    """

    least: float
    low: float
    high: float
    largest: float
    zeros: bool


def statistic_range(
    run: RunIndex, graph_id: str, statistic: str, *, worker: str | None = None
) -> StatisticRange:
    """The range of a statistic over all snapshots of a graph.

    Each tensor counts alike, however often it was captured: visits of a loop do not outvote the rest.

    Args:
        statistic: one of `TIMELINE_STATISTICS`. worker: only this worker's snapshots.

    Raises:
        NotFoundError: no such graph or worker. SelectionError: no such statistic.
    """
    if statistic not in TIMELINE_STATISTICS:
        raise SelectionError(
            f"There is no range of {statistic[:80]!r}.", f"Use one of {', '.join(TIMELINE_STATISTICS)}."
        )
    run.graph(graph_id)
    catalog = run.catalog
    rows = np.flatnonzero(
        np.isin(catalog.column("tensor", slice(0, catalog.rows)), catalog.tensors.in_graph(graph_id))
    )
    if worker is not None:
        rows = rows[catalog.column("worker", rows) == worker_code(catalog, worker)]
    values = values_of(catalog, rows, statistic)
    zeros = bool((values == 0).any())
    counts = values > 0 if statistic in _NEVER_NEGATIVE else np.ones(len(values), np.bool_)
    counts &= np.isfinite(values)
    return StatisticRange(*_ends(values[counts], catalog.column("tensor", rows)[counts]), zeros)


def _ends(values: Array, tensor: Array) -> tuple[float, float, float, float]:
    if not len(values):
        return (float("nan"),) * 4
    order = np.argsort(values)
    weight = np.cumsum(1 / np.bincount(tensor)[tensor[order]])  # 1 for each tensor, shared by its snapshots
    at = np.searchsorted(weight, weight[-1] * np.array([0, _LOW_PART, _HIGH_PART, 1]))
    least, low, high, largest = values[order[np.minimum(at, len(values) - 1)]].tolist()
    return least, low, high, largest
