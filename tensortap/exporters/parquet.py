"""Statistics as Parquet, for pandas, polars, DuckDB and the like."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq

from tensortap.core.dtypes import Array
from tensortap.index.run_index import RunIndex

from .base import Advance, Exported, all_rows, new_file
from .table import tables


def export(run: RunIndex, rows: Array | None, out: Path, advance: Advance) -> Exported:
    """One row group a 50,000 snapshots; NaN stays NaN."""
    rows, done = all_rows(run, rows), 0
    with new_file(out) as temporary:
        writer: pq.ParquetWriter | None = None
        try:
            for table in tables(run, rows):
                writer = writer or pq.ParquetWriter(temporary, table.schema, compression="zstd")
                writer.write_table(table)
                done += table.num_rows
                advance(done, len(rows))
        finally:
            if writer is not None:
                writer.close()
    return Exported(out, len(rows), out.stat().st_size, [])
