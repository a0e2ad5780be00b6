"""The statistics of every tensor of a graph at one step."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tensortap.core.dtypes import Array
from tensortap.core.errors import NotFoundError

from ..catalog.catalog import Catalog
from ..catalog.columns import Coded
from ..catalog.decode import STATISTICS_COLUMNS
from ..graph.graph_index import GraphIndex
from ..query.tensor_lookup import worker_code
from ..run_index import RunIndex
from ..unknown_counts import unknown_counts
from .merge_statistics import group_starts, merge_statistics


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
