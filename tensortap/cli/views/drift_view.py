"""What `tensortap replay --recast` prints: where a step drifts in another dtype."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tensortap.core.text import counted

from ..console import cell, number_text, plain_table

if TYPE_CHECKING:
    from rich.console import Console

MOST_ROWS = 40


def print_drifts(found: Mapping[str, Any], out: Console) -> None:
    """Tensors by the drift that is born in them, what it came to, and what could not be judged."""
    dtype = found["dtype"]
    numeric = ("drift", "inherited", "born here")
    table = plain_table("tensor", "op type", "dtype", *numeric, "", numeric=numeric)
    for row in found["drifts"][:MOST_ROWS]:
        parts = row["split"]
        table.add_row(
            cell(row["tensor"]),
            cell(row["op_type"]),
            cell(row["dtype"]),
            *(number_text(parts[key]) for key in ("total", "inherited", "born")),
            cell(_note(row), "red" if parts["born_non_finite"] else "dim"),
        )
    out.print(table)
    if len(found["drifts"]) > MOST_ROWS:
        out.print(f"and {len(found['drifts']) - MOST_ROWS:,} more (all: --json)")
    _print_results(found, out)
    for op_type, count in found["lacking"].items():
        out.print(cell(f"ran in their own dtype, without a kernel for another: {count} {op_type}", "dim"))
    if found["unlike"]:
        out.print(cell(f"ran another number of times: {', '.join(found['unlike'][:5])}", "yellow"))
    for why, count in sorted(found["skipped"].items(), key=lambda each: -each[1]):
        out.print(cell(f"not judged: {counted(count, 'node')}, each {why}", "dim"))
    for name, failure in found["failed"].items():
        out.print(cell(f"in {dtype}: {failure}" if name == dtype else f"recorded: {failure}", "red"))


def _note(row: Mapping[str, Any]) -> str:
    parts = row["split"]
    if parts["born_non_finite"]:
        return f"{counted(parts['born_non_finite'], 'number')} became NaN or infinite here"
    if row["given"]:
        return "given to the step"
    return f"{parts['visits']} visits" if parts["visits"] > 1 else ""


def _print_results(found: Mapping[str, Any], out: Console) -> None:
    for row in found["outputs"]:
        if row["recorded"] is not None:
            beside = f"{number_text(row['recorded'])} recorded, {number_text(row['recast'])} in"
            out.print(cell(f"{row['name']}: {beside} {found['dtype']}"))
        else:
            out.print(cell(f"{row['name']}: changed by {number_text(row['change'])} of its size"))
    if found["variables"]:
        worst = found["variables"][0]
        text = f"variables after the step: {worst['name']} is the furthest, {number_text(worst['change'])}"
        out.print(cell(f"{text} of its size"))
