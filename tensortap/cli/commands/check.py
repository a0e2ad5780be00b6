"""`tensortap check`: verifies every checksum of a dump."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tensortap.compact.manifest import check_compacted
from tensortap.core.errors import DamagedError, FormatVersionError, InvalidNameError, NotARunError
from tensortap.core.text import bytes_text, counted, escaped
from tensortap.dump.maintenance.repair import repair_run
from tensortap.dump.maintenance.run_check import Report, check_run
from tensortap.dump.read.runs import find_runs
from tensortap.importers.resolve import check_reachable
from tensortap.scale.registry import open_engine
from tensortap.storage.filesystem import is_folder
from tensortap.storage.uri import is_remote, shown_path
from tensortap.system.progress_line import progress_line

from ..argument_types import add_engine
from ..console import cell, console, print_json
from ..select_run import add_path, check_folders_read, dropped_text, report_unread

HELP = "verify every checksum of a dump, without changing it"
EXAMPLE = "tensortap check logs --repair"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_path(parser)
    parser.add_argument(
        "--repair",
        action="store_true",
        help="copy the readable part of a damaged or unfinished run to RUN.repaired",
    )
    add_engine(parser)
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(arguments: argparse.Namespace) -> int:
    check_reachable(arguments.path)
    unread: dict[Path, OSError | DamagedError] = {}
    runs = find_runs(arguments.path, unread.__setitem__) if is_folder(arguments.path) else []
    if not runs:
        check_folders_read(unread)
        raise NotARunError(
            f"No run found in {shown_path(arguments.path)!r}.", "Pass a log directory or a run in it."
        )
    if arguments.repair:
        _check_repairable(arguments.path)
    reports, failed = list[Report](), False
    with (
        open_engine(arguments.engine, arguments.processes) as engine,
        progress_line("checking", quiet=arguments.json) as advance,
    ):
        for name, path in runs:
            reports.append(check_run(name, path, advance, engine))
            if arguments.repair and (reports[-1].damage or reports[-1].pending):
                reports[-1].repaired = _repair(path, advance)
                failed |= reports[-1].repaired is None
            if not is_remote(path):
                reports[-1].compacted, damage = check_compacted(path)
                reports[-1].damage += damage
    damaged = any(report.damage for report in reports)
    if arguments.json:
        print_json({"ok": not damaged, "runs": [asdict(report) for report in reports]})
    else:
        _print(reports)
    return 1 if report_unread(unread) or damaged or failed else 0


def _check_repairable(path: Path) -> None:
    """Raises NotARunError where no copy can be written beside a run."""
    where = shown_path(path)
    if is_remote(path):
        raise NotARunError(
            f"A remote run cannot be repaired in place: {where}.", "Copy it to a local folder first."
        )
    if not path.is_dir():
        raise NotARunError(
            f"An archive cannot be repaired in place: {where}.", "Unzip it and repair the folder."
        )


def _repair(path: Path, advance: Any) -> str | None:
    """Writes the repaired copy of a run next to it; returns its path. None if there is one already, or even
    run.json is lost."""
    out = path.with_name(f"{path.name}.repaired")
    try:
        return str(repair_run(path, out, lambda text: advance(f"repairing {path.name}: {text}")).path)
    except (NotARunError, FormatVersionError, InvalidNameError) as error:
        print(escaped(f"{path} cannot be repaired: {error}"), file=sys.stderr)
        return None


def _state(report: Report) -> tuple[str, str]:
    """In a word, and its style."""
    if report.damage:
        return "damaged", "bold red"
    return ("incomplete", "yellow") if report.pending else ("ok", "green")


def _counts(report: Report) -> Iterator[str]:
    yield (
        f"{counted(report.workers, 'worker')}, {counted(report.graphs, 'graph')}, "
        f"{counted(report.snapshots, 'snapshot')}, "
        f"{counted(report.values, 'value')} ({bytes_text(report.value_bytes)})"
    )
    if report.events or report.recordings:
        yield f"{counted(report.events, 'event')}, {counted(report.recordings, 'recording')}"
    if report.pruned:
        yield f"{counted(report.pruned, 'value')} pruned"
    if report.compacted:
        yield f"{counted(report.compacted, 'snapshot')} compacted"
    if report.unnamed_bytes:
        yield f"{bytes_text(report.unnamed_bytes)} of values without a snapshot"


def _print(reports: list[Report]) -> None:
    out = console()
    for report in reports:
        state = cell(*_state(report))
        out.print(cell(report.run, "bold"), state)
        for line in _counts(report):
            out.print(f"  {line}")
        if report.dropped:
            out.print(cell(f"  {dropped_text(report.dropped)}", "yellow"))
        if report.repaired is not None:
            out.print(cell(f"  repaired copy: {report.repaired}", "green"))
        for sentence in report.pending:
            out.print(cell(f"  unfinished: {sentence}"))
        for sentence in report.damage:
            out.print(cell(f"  {sentence}", "red"))
    damaged = sum(bool(report.damage) for report in reports)
    if damaged:
        verb = "is" if len(reports) == 1 else "are"
        print(
            f"{damaged} of {counted(len(reports), 'run')} {verb} damaged; the rest of their data are "
            "readable.",
            file=sys.stderr,
        )
