"""Statistics as CSV, for spreadsheets: what one would take for a formula is guarded."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

from tensortap.core.dtypes import Array
from tensortap.core.text import csv_text
from tensortap.index.run_index import RunIndex

from .base import Advance, Exported, all_rows, new_file
from .table import tables


def export(run: RunIndex, rows: Array | None, out: Path, advance: Advance) -> Exported:
    """A line a snapshot, below a line with the columns' names; shapes as `3x4`, times in UTC."""
    rows, done = all_rows(run, rows), 0
    with new_file(out) as temporary, temporary.open("x", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        for table in tables(run, rows):
            if not done:
                writer.writerow(table.column_names)
            columns = (map(_cell, column.to_pylist()) for column in table.columns)
            writer.writerows(zip(*columns, strict=True))
            done += table.num_rows
            advance(done, len(rows))
    return Exported(out, len(rows), out.stat().st_size, [])


def _cell(value: Any) -> Any:
    """Text that is safe in a spreadsheet and a terminal; a lone `-` (no graph) is no formula."""
    if isinstance(value, list):
        return "x".join(map(str, value)) or "scalar"
    if isinstance(value, str):
        return value if value == "-" else csv_text(value)
    return value.isoformat() if hasattr(value, "isoformat") else value
