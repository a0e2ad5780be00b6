"""`tensortap sql`: queries the statistics of a run in SQL."""

from __future__ import annotations

import argparse
from datetime import date, datetime, time, timedelta
from pathlib import Path

from tensortap.core.errors import NotARunError, NotFoundError
from tensortap.core.text import number_text
from tensortap.dump.read.runs import find_runs
from tensortap.importers.resolve import as_logdir
from tensortap.storage.uri import shown_path

from ...console import cell, console, print_json, print_table
from ...select_run import add_path, print_damage, report_dropped

HELP = "query the statistics of a run with SQL; compact large runs first"
EXAMPLE = 'tensortap sql logs/digits "SELECT tensor, l2 FROM by_tensor ORDER BY 2 DESC LIMIT 5"'
_SHOWN = 1000  # rows


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = "\n".join(
        [
            f"example: {EXAMPLE}",
            (
                "tables: snapshots, histograms, by_step (merges workers), by_tensor (merges workers "
                "and steps), workers"
            ),
            "  'SELECT * FROM snapshots LIMIT 1' shows the columns of a table",
        ]
    )
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    add_path(parser)
    parser.add_argument("query", metavar="SQL", help="one SELECT, in DuckDB's dialect")
    parser.add_argument("--json", action="store_true", help="print JSON: a list of rows")


def run(arguments: argparse.Namespace) -> int:
    from tensortap.compact.queries import query_run

    run_dir = _run_dir(arguments.path)
    name = run_dir.name
    found = query_run(
        run_dir,
        arguments.query,
        lambda damage: print_damage(name, damage),
        lambda dropped: report_dropped(name, dropped),
    )
    if arguments.json:
        rows = found.to_pylist()
        print_json([{name: _json(value) for name, value in row.items()} for row in rows])
        return 0
    shown = found.slice(0, _SHOWN)
    cells = [
        [cell(_text(value)) for value in values]
        for values in zip(*(column.to_pylist() for column in shown.columns), strict=True)
    ]
    print_table(console(), [cell(name).plain for name in found.column_names], cells)
    if found.num_rows > _SHOWN:
        more = f"… and {found.num_rows - _SHOWN:,} more rows; add a LIMIT, or use --json to print all"
        console(stderr=True).print(cell(more, "dim"))
    return 0


def _run_dir(path: Path) -> Path:
    """The only run at a path. Raises NotARunError, NotFoundError."""
    logdir = as_logdir(path)
    runs = find_runs(logdir)
    if not runs:
        raise NotARunError(f"No run found in {shown_path(path)!r}.", "Pass a directory with a run.json.")
    if len(runs) > 1:
        names = ", ".join(name for name, _ in runs[:10])
        raise NotFoundError(
            f"There are {len(runs)} runs in {shown_path(path)!r}.", f"Pass one of them: {names}"
        )
    return runs[0][1]


def _json(value: object) -> object:
    if isinstance(value, datetime | date):
        return value.isoformat()
    return str(value) if isinstance(value, bytes | timedelta | time) else value


def _text(value: object) -> str:
    if value is None:
        return "NULL"
    return number_text(value, 6) if isinstance(value, float) else str(value)
