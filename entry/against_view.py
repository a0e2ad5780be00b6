"""What `tensortap replay --against` prints: which nodes of two recordings introduce a difference."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from .drift_view import MOST_ROWS
from .terminal import cell, counted, number_text, plain_table

if TYPE_CHECKING:
    from rich.console import Console


def print_differences(found: Mapping[str, Any], out: Console) -> None:
    """Nodes that make something else of the same inputs first, then what differs from outside."""
    numeric = ("introduced", "received", "difference")
    table = plain_table("tensor", "op type", "dtype", *numeric, "", "line", numeric=numeric)
    for row in found["differences"][:MOST_ROWS]:
        table.add_row(
            cell(row["tensor"]),
            cell(" / ".join(dict.fromkeys(row["op_types"]))),
            cell(" / ".join(dict.fromkeys(row["dtypes"]))),
            *(number_text(row[key]) for key in ("introduced", "received", "total")),
            cell("given to the step" if row["given"] else "", "dim"),
            cell(_line(row), "cyan"),
        )
    out.print(table)
    rows = found["differences"]
    if len(rows) > MOST_ROWS:
        out.print(f"and {len(rows) - MOST_ROWS:,} more (all: --json)")
    introduced = sum(1 for row in rows if row["introduced"] and not row["given"])
    out.print(
        f"{counted(introduced, 'tensor')} where a difference is introduced,"
        f" {len(rows) - introduced:,} that only pass one on or were given it, {found['same']:,} without any"
    )
    for number, nodes in enumerate(found["unpaired"]):
        if nodes:
            where = "this recording" if number == 0 else "the other one"
            out.print(
                cell(f"only in {where}: {counted(len(nodes), 'node')}, {', '.join(nodes[:5])}", "yellow")
            )
    if found["unlike"]:
        names = ", ".join(found["unlike"][:5])
        out.print(cell(f"not compared, of other shapes or inputs: {len(found['unlike'])}, {names}", "yellow"))
    for why, count in sorted(found["skipped"].items(), key=lambda each: -each[1]):
        out.print(cell(f"not compared: {counted(count, 'node')}, each {why}", "dim"))


def _line(row: Mapping[str, Any]) -> str:
    """The line of the program, where the graph of the run tells it."""
    return f"{PurePath(row['file']).name}:{row['line']}  {row['text']}" if row["line"] else ""
