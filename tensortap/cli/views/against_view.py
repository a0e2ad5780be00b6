"""What `tensortap replay --against` prints: which nodes of two recordings introduce a difference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from tensortap.core.text import counted

from ..console import cell, number_text, plain_table
from .drift_view import MOST_ROWS

if TYPE_CHECKING:
    from rich.console import Console

_MOST_NAMED = 5


def print_differences(found: Mapping[str, Any], out: Console) -> None:
    """What only one side has; nodes that make something else of the same inputs; what was given."""
    if any(found["unpaired"]):
        out.print(cell(_unlike_structure(found["unpaired"]), "yellow"))
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
    if found["unlike"]:
        count, names = len(found["unlike"]), _named(found["unlike"])
        out.print(cell(f"not compared, of other shapes or inputs: {count} ({names})", "yellow"))
    for why, count in sorted(found["skipped"].items(), key=lambda each: -each[1]):
        out.print(cell(f"not compared: {counted(count, 'node')}, each {why}", "dim"))


def _unlike_structure(unpaired: Sequence[Sequence[str]]) -> str:
    """One sentence on the nodes that this recording, or the other one, has alone."""
    sides = [
        f"{counted(len(nodes), 'node')} only in {where} ({_named(nodes)})"
        for nodes, where in zip(unpaired, ("this recording", "the other one"), strict=True)
        if nodes
    ]
    return f"The graphs differ: {' and '.join(sides)}; those are not ranked."


def _named(nodes: Sequence[str]) -> str:
    rest = [f"{len(nodes) - _MOST_NAMED:,} more"] if len(nodes) > _MOST_NAMED else []
    return ", ".join([*nodes[:_MOST_NAMED], *rest])


def _line(row: Mapping[str, Any]) -> str:
    """The line of the program, where the graph of the run tells it."""
    return f"{PurePath(row['file']).name}:{row['line']}  {row['text']}" if row["line"] else ""
