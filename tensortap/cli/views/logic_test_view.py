"""What `tensortap replay --test` prints."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..console import cell, number_text, plain_table
from .drift_view import MOST_ROWS

if TYPE_CHECKING:
    from rich.console import Console


def print_test(found: Mapping[str, Any], out: Console) -> None:
    """Writes whether the step passed, and what was found."""
    verdict = "passed" if found["passed"] else "failed"
    out.print(cell(f"{found['test']}: {verdict}. {found['summary']}", "green" if found["passed"] else "red"))
    if not found["rows"]:
        return
    numbers = tuple(name for name, value in found["rows"][0].items() if isinstance(value, float | int))
    table = plain_table(*(name.replace("_", " ") for name in found["columns"]), numeric=numbers)
    for row in found["rows"][:MOST_ROWS]:
        table.add_row(*(_text(row[name]) for name in found["columns"]))
    out.print(table)
    if len(found["rows"]) > MOST_ROWS:
        out.print(f"and {len(found['rows']) - MOST_ROWS:,} more (all: --json)")


def _text(value: Any) -> Any:
    return number_text(value) if isinstance(value, float | int) else cell(value)
