"""Verdicts on the nodes of a recorded step, as a table, worst first."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from tensortap.core.text import counted

from ..console import cell, number_text, plain_table

if TYPE_CHECKING:
    from rich.console import Console

_STYLES = {"bug in the kernel": "red", "ill-conditioned": "yellow", "low precision": "yellow"}
_MOST_ROWS = 40


def print_verdicts(answer: Any, out: Console) -> None:
    """The worst outputs, how many of each judgement, and what could not be judged and why."""
    numeric = ("error", "scale", "error/scale", "moved by 1 ULP")
    table = plain_table(
        "verdict", "tensor", "visit", "op type", "dtype", *numeric, "not finite", numeric=numeric
    )
    for row in answer.verdicts[:_MOST_ROWS]:
        relative = row["error"] / row["scale"] if row["scale"] else 0.0
        table.add_row(
            cell(row["judgement"], _STYLES.get(row["judgement"], "")),
            cell(row["tensor"]),
            f"{row['visit']} of {row['visits']}" if row["visits"] > 1 else "",
            *(cell(row[key]) for key in ("op_type", "dtype")),
            *(number_text(number) for number in (row["error"], row["scale"], relative, row["moved"])),
            cell(row["note"], "red"),
        )
    out.print(table)
    if len(answer.verdicts) > _MOST_ROWS:
        out.print(f"and {len(answer.verdicts) - _MOST_ROWS:,} more (all: --json)")
    counts = Counter(row["judgement"] for row in answer.verdicts)
    out.print(
        ", ".join(f"{count:,} {judgement}" for judgement, count in counts.items()) or "nothing was judged"
    )
    for why, count in sorted(answer.not_judged.items(), key=lambda each: -each[1]):
        out.print(cell(f"not judged: {counted(count, 'node')}, each {why}", "dim"))
