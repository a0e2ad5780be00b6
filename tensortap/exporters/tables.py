"""The statistics of snapshots as tables: Parquet and CSV."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tensortap.core.dtypes import Array
from tensortap.core.progress import AdvanceCount
from tensortap.core.text import csv_text
from tensortap.index.run_index import RunIndex
from tensortap.index.series.history import row_columns

from .base import Exported, all_rows, new_file

_BATCH_ROWS = 50_000  # rows of a table


def export_parquet(run: RunIndex, rows: Array | None, out: Path, advance: AdvanceCount) -> Exported:
    """One row group a 50,000 snapshots; NaN stays NaN."""
    rows, done = all_rows(run, rows), 0
    with new_file(out) as temporary:
        writer: pq.ParquetWriter | None = None
        try:
            for table in _tables(run, rows):
                writer = writer or pq.ParquetWriter(temporary, table.schema, compression="zstd")
                writer.write_table(table)
                done += table.num_rows
                advance(done, len(rows))
        finally:
            if writer is not None:
                writer.close()
    return Exported(out, len(rows), out.stat().st_size, [])


def export_csv(run: RunIndex, rows: Array | None, out: Path, advance: AdvanceCount) -> Exported:
    """One line per snapshot after a header line; shapes as `3x4`, times in UTC."""
    rows, done = all_rows(run, rows), 0
    with new_file(out) as temporary, temporary.open("x", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        for table in _tables(run, rows):
            if not done:
                writer.writerow(table.column_names)
            columns = (map(_cell, column.to_pylist()) for column in table.columns)
            writer.writerows(zip(*columns, strict=True))
            done += table.num_rows
            advance(done, len(rows))
    return Exported(out, len(rows), out.stat().st_size, [])


def _cell(value: Any) -> Any:
    """Text that is safe in a spreadsheet and a terminal; a lone `-` (no graph) is not a formula."""
    if isinstance(value, list):
        return "x".join(map(str, value)) or "scalar"
    if isinstance(value, str):
        return value if value == "-" else csv_text(value)
    return value.isoformat() if hasattr(value, "isoformat") else value


def _tables(run: RunIndex, rows: Array) -> Iterator[pa.Table]:
    """One row per snapshot: tensor, node, slot, step, visit, graph, worker, time, device, dtype, shape,
    counts, statistics, kept."""
    for start in range(0, len(rows), _BATCH_ROWS):
        part = rows[start : start + _BATCH_ROWS]
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
