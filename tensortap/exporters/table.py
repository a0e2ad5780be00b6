"""The statistics of snapshots as Arrow tables, a piece at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from tensortap.core.dtypes import Array
from tensortap.index.run_index import RunIndex
from tensortap.index.series.history import row_columns

AT_ONCE = 50_000  # rows of a table


def tables(run: RunIndex, rows: Array) -> Iterator[pa.Table]:
    """One row a snapshot: tensor, node, slot, step, visit, graph, worker, time, device, dtype, shape, counts,
    statistics, kept."""
    for start in range(0, len(rows), AT_ONCE):
        part = rows[start : start + AT_ONCE]
        yield pa.table({name: _column(name, values) for name, values in _columns(run, part).items()})


def _columns(run: RunIndex, rows: Array) -> dict[str, Any]:
    tensors = run.catalog.tensors
    codes = run.catalog.column("tensor", rows).tolist()
    places = [tensors.node_and_slot(code) for code in codes]
    head = {
        "tensor": [tensors.names[code] for code in codes],
        "node": [node for node, _ in places],
        "slot": np.array([slot for _, slot in places], np.int32),
    }
    return head | row_columns(run.catalog, rows)


def _column(name: str, values: Any) -> pa.Array:
    if name == "shape":
        return pa.array([list(shape) for shape in values], pa.list_(pa.int64()))
    if name == "time":
        return pa.array((np.asarray(values) * 1e6).round().astype(np.int64), pa.timestamp("us", "UTC"))
    if isinstance(values, list):
        return pa.array(values, pa.string())
    return pa.array(values)
