"""`tensortap ls`: the runs of a log directory."""

from __future__ import annotations

import argparse
import sys
from datetime import datetime
from typing import TYPE_CHECKING, Any

from tensortap.core.text import bytes_text, escaped
from tensortap.storage.filesystem import directory_size
from tensortap.storage.uri import shown_path

from ..console import cell, print_fitting_columns, print_json
from ..select_run import add_path, open_log, report_unread

if TYPE_CHECKING:
    from rich.text import Text

    from tensortap.index.logdir_index import LogIndex
    from tensortap.index.run_index import RunIndex

HELP = "list runs: steps, snapshots, size, tensors with NaN or Inf"
EXAMPLE = "tensortap ls logs"
_NUMBERS = ("snapshots", "size", "non-finite")
_COLUMNS = ("run", "created", "steps", *_NUMBERS, "")
_DROPPABLE = ("created", "size", "snapshots", "steps")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_path(parser)
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(arguments: argparse.Namespace) -> int:
    log = open_log(arguments.path)
    rows = [_row(found) for found in log.runs]
    if arguments.json:
        print_json(rows)
    else:
        print_fitting_columns(_COLUMNS, [_cells(row) for row in rows], _DROPPABLE, numeric=_NUMBERS)
    return 1 if _report_unread(log) else 0


def _report_unread(log: LogIndex) -> bool:
    """Reports folders that were unreadable because of permissions or a failing address."""
    denied = [f"{run.name}: {run.denied[0]}" for run in log.runs if run.denied]
    for sentence in denied:
        print(escaped(sentence), file=sys.stderr)
    return report_unread(log.unread) or bool(denied)


def _cells(row: dict[str, Any]) -> list[Text]:
    return [
        cell(row["name"], "bold"),
        cell(datetime.fromtimestamp(row["created"]).strftime("%Y-%m-%d %H:%M")),
        cell(_steps(row)),
        cell(f"{row['snapshots']:,}"),
        cell(bytes_text(row["bytes"])),
        cell(_nonfinite(row), "red" if row["nonfinite"] else ""),
        _state(row),
    ]


def _state(row: dict[str, Any]) -> Text:
    if row["error"] or row["damaged"]:
        return cell(row["error"] or "damaged", "red")
    if row["unfinished"]:
        return cell("incomplete", "yellow")
    if row["dropped"]:
        return cell(f"{row['dropped']:,} dropped", "yellow")
    return cell("live" if row["live"] else "", "green")


def _row(found: RunIndex) -> dict[str, Any]:
    from tensortap.index.unknown_counts import snapshots_not_counted

    overview = found.overview()
    return {
        "name": overview.name,
        "path": shown_path(found.path),
        "created": overview.created,
        "steps": {"first": overview.first_step, "last": overview.last_step, "count": overview.step_count},
        "snapshots": overview.snapshots,
        "bytes": directory_size(found.path),
        "nonfinite": overview.nonfinite,
        "snapshots_not_counted": snapshots_not_counted(found.catalog),
        "live": overview.live,
        "error": overview.error,
        "damaged": bool(found.damage),
        "unfinished": bool(found.unfinished),
        "dropped": found.dropped,
    }


def _steps(row: dict[str, Any]) -> str:
    steps = row["steps"]
    return f"{steps['first']}…{steps['last']} ({steps['count']})" if steps["count"] else "none"


def _nonfinite(row: dict[str, Any]) -> str:
    """Number of tensors with NaN or infinity; imported runs may have unknown ones."""
    if row["nonfinite"] is None:
        return "unknown"
    return f"{row['nonfinite']:,}" + (" or more" if row["snapshots_not_counted"] else "")
