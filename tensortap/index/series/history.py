"""One tensor's statistics over steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from tensortap.core.dtypes import Array

from ..catalog.catalog import Catalog
from ..query.step_range import parse_steps
from ..query.tensor_lookup import tensor_rows
from ..run_index import RunIndex
from ..snapshot import PLAIN_COLUMNS
from ..unknown_counts import unknown_counts
from .statistic_values import thin

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class History:
    """One row per snapshot, ordered by step, visit, worker. `thinned_from`: the full number, if rows were
    skipped. `graph`: if several captured the tensor, the last one.

    Columns: `step`, `visit`, `size` and counts (int64, masked if unknown), statistics and
    `time` (float64, seconds since 1970), `kept` (bool); lists for `graph`, `worker`, `dtype` (str) and
    `shape` (tuples). `rows` are the rows of the catalog.
    """

    tensor: str
    graph: str
    columns: dict[str, Any]
    thinned_from: int | None
    rows: Array


def history(
    run: RunIndex,
    tensor: str,
    *,
    graph: str | None = None,
    worker: str | None = None,
    steps: object = None,
    visit: int | None = None,
    limit: int | None = None,
) -> History:
    """The snapshots of one tensor.

    Args:
        graph: only this graph's; by default those of all graphs that captured a tensor of that name.
        steps: a range of steps (see `parse_steps`). visit: only this one of each step.
        limit: maximum number of rows, evenly thinned; the first and last stay.

    Raises:
        NotFoundError: no such tensor, graph or worker. SelectionError: `steps` cannot be parsed.
    """
    catalog = run.catalog
    code, rows = tensor_rows(catalog, tensor, graph, parse_steps(steps), worker)
    if visit is not None:
        rows = rows[catalog.column("visit", rows) == visit]
    kept = rows[thin(len(rows), limit)]
    thinned = len(rows) if len(kept) < len(rows) else None
    name, graph = catalog.tensors.names[code], catalog.tensors.graph_of(code)
    return History(name, graph, row_columns(catalog, kept), thinned, kept)


def row_columns(catalog: Catalog, rows: Array) -> dict[str, Any]:
    """The columns of some rows, as described at `History`."""
    columns: dict[str, Any] = {name: _widened(catalog.column(name, rows)) for name in PLAIN_COLUMNS}
    for name, unknown in unknown_counts(catalog, rows).items():
        columns[name] = np.ma.masked_array(columns[name], unknown)
    named = (("worker", catalog.workers), ("dtype", catalog.dtypes), ("device", catalog.devices))
    columns |= {name: _values_of_codes(table.values, catalog.column(name, rows)) for name, table in named}
    columns["time"] = catalog.column("time", rows) / 1e6
    columns["graph"] = catalog.tensors.graphs_of(catalog.column("tensor", rows))
    columns["shape"] = _values_of_codes(catalog.shapes.values, catalog.column("shape", rows))
    order = ("step", "visit", "graph", "worker", "time", "device", "dtype", "shape", *PLAIN_COLUMNS[2:])
    return {name: columns[name] for name in order}


def _values_of_codes(values: Sequence[T], codes: Array) -> list[T]:
    return [values[code] for code in codes.tolist()]


def _widened(values: Array) -> Array:
    return values.astype(np.int64) if values.dtype.kind == "i" else values
