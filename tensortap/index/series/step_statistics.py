"""Statistics of the tensors of a graph: of each at one step, and the range of one over all steps.

Those of visits of one step, and of shards on several workers, are merged (`tensortap.stats.merge`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tensortap.core.dtypes import Array
from tensortap.core.errors import NotFoundError, SelectionError
from tensortap.stats.merge import finite_elements, group_starts, merge_statistics

from ..catalog.catalog import Catalog
from ..catalog.columns import Coded
from ..catalog.decode import STATISTICS_COLUMNS
from ..graph.graph_index import GraphIndex
from ..query.tensor_lookup import worker_code
from ..run_index import RunIndex
from ..unknown_counts import unknown_counts
from .statistic_values import TIMELINE_STATISTICS, values_of


@dataclass(frozen=True, slots=True)
class StepStatistics:
    """One row per tensor. Columns: `node` (row in the graph), `slot`, `visits` (merged snapshots), int32;
    `size`, counts (NaN if unknown) and statistics, float64; `dtype`; `kept` (1: a value is stored), uint8."""

    step: int
    columns: dict[str, Array | Coded]


def step_statistics(run: RunIndex, graph_id: str, step: int, *, worker: str | None = None) -> StepStatistics:
    """Statistics of a graph's tensors at a step, visits and workers merged.

    Args:
        worker: only this worker's snapshots.

    Raises:
        NotFoundError: the graph, worker or step does not exist. A step of other graphs has no rows.
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


def _shapes(catalog: Catalog, rows: Array) -> Coded:
    """Shapes of snapshots, as a graph's own are written: `32×28×28`, `scalar`."""
    used, codes = np.unique(catalog.column("shape", rows), return_inverse=True)
    texts = ["×".join(map(str, catalog.shapes.values[code])) or "scalar" for code in used.tolist()]
    return Coded(codes.astype(np.int32), texts)


def _merged(catalog: Catalog, graph: GraphIndex, rows: Array) -> dict[str, Array | Coded]:
    tensor = catalog.column("tensor", rows)
    starts = group_starts(tensor)
    nodes, slots = catalog.tensors.nodes_and_slots(tensor[starts])
    node_rows = np.array([graph.rows.get(node, -1) for node in nodes], np.int32)
    known = node_rows >= 0  # a node may just have appeared
    found = {name: catalog.column(name, rows) for name in STATISTICS_COLUMNS}
    is_text = catalog.column("dtype", rows) == catalog.dtypes.code("string")
    found |= {"snapshots": np.ones(len(rows), np.int64), "finite": finite_elements(found, is_text)}
    merged = merge_statistics(found, starts)
    columns: dict[str, Array | Coded] = {
        "node": node_rows[known],
        "slot": slots.astype(np.int32)[known],
        "visits": merged["snapshots"].astype(np.int32)[known],
    }
    numbers = {name: merged[name].astype(np.float64) for name in STATISTICS_COLUMNS}
    for name, lacking in unknown_counts(catalog, rows).items():
        unknown = np.logical_or.reduceat(lacking, starts)
        # A count above 0 is known to be at least that; a size is known or is not.
        numbers[name][unknown if name == "size" else unknown & (numbers[name] == 0)] = np.nan
    columns |= {name: values[known] for name, values in numbers.items()}
    dtypes = catalog.column("dtype", rows)[starts][known].astype(np.int32)
    columns["dtype"] = Coded(dtypes, list(catalog.dtypes.values))
    columns["shape"] = _shapes(catalog, rows[starts][known])
    kept = catalog.column("kept", rows).astype(np.uint8)
    columns["kept"] = np.maximum.reduceat(kept, starts)[known] if len(rows) else kept
    return columns


_NEVER_NEGATIVE = ("std", "abs_max", "l2")
_LOW_PART, _HIGH_PART = 0.01, 0.99


@dataclass(frozen=True, slots=True)
class StatisticRange:
    """Range of a statistic's finite values. For `std`, `abs_max` and `l2`, which span magnitudes, of those
    above 0. NaN without values.

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
    Of a run of more than 2 million snapshots, `low` and `high` are those of a sample.

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
    code = None if worker is None else worker_code(catalog, worker)
    sampled, random = catalog.rows_at_once / max(1, catalog.rows), np.random.default_rng(0)
    zeros, ends, parts = False, np.zeros(0), []
    for block in catalog.blocks():
        inside = np.isin(catalog.column("tensor", block), catalog.tensors.in_graph(graph_id))
        rows = block.start + np.flatnonzero(inside)
        if code is not None:
            rows = rows[catalog.column("worker", rows) == code]
        values = values_of(catalog, rows, statistic)
        zeros |= bool((values == 0).any())
        counts = values > 0 if statistic in _NEVER_NEGATIVE else np.ones(len(values), np.bool_)
        counts &= np.isfinite(values)
        values, tensor = values[counts], catalog.column("tensor", rows)[counts]
        ends = np.append(ends, [values.min(), values.max()] if len(values) else [])
        taken = slice(None) if sampled >= 1 else random.random(len(values)) < sampled
        parts.append((values[taken], tensor[taken]))
    if not len(ends):
        return StatisticRange(*4 * (float("nan"),), zeros)
    values, tensor = (np.concatenate(each) for each in zip(*parts, strict=True))
    low, high = _ends(values, tensor)
    return StatisticRange(float(ends.min()), low, high, float(ends.max()), zeros)


def _ends(values: Array, tensor: Array) -> tuple[float, float]:
    order = np.argsort(values)
    weight = np.cumsum(1 / np.bincount(tensor)[tensor[order]])  # 1 for each tensor, shared by its snapshots
    at = np.searchsorted(weight, weight[-1] * np.array([_LOW_PART, _HIGH_PART]))
    low, high = values[order[np.minimum(at, len(values) - 1)]].tolist()
    return low, high
