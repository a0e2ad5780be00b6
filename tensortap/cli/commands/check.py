"""`tensortap check`: verifies every checksum of a dump."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from tensortap.core.errors import DamagedError, DeniedError, FormatVersionError, NotARunError, TensortapError
from tensortap.core.names import GRAPHS
from tensortap.core.text import bytes_text, counted, escaped
from tensortap.dump.format.events import EventsTail
from tensortap.dump.maintenance.integrity import Completeness, ValueCheck, check_graph_def
from tensortap.dump.maintenance.repair import repair_run
from tensortap.dump.read.runs import RunReader, find_runs
from tensortap.dump.recording.recording_files import find_recordings, read_recording
from tensortap.importers.resolve import check_reachable
from tensortap.storage.filesystem import is_folder
from tensortap.storage.uri import is_remote, shown_path
from tensortap.system.progress_line import progress_line

from ..console import cell, console, print_json
from ..select_run import add_path, check_folders_read, report_unread

HELP = "verify every checksum of a dump; changes nothing"
EXAMPLE = "tensortap check logs --repair"


@dataclass
class Report:
    """What was found in one run. `pending` is no damage: a worker writes, or was stopped while it wrote.
    `unnamed_bytes`: bytes of values that no snapshot names."""

    run: str
    workers: int = 0
    graphs: int = 0
    events: int = 0
    recordings: int = 0
    snapshots: int = 0
    values: int = 0
    value_bytes: int = 0
    pruned: int = 0
    unnamed_bytes: int = 0
    pending: list[str] = field(default_factory=list)
    damage: list[str] = field(default_factory=list)
    repaired: str | None = None


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_path(parser)
    parser.add_argument(
        "--repair",
        action="store_true",
        help="copy what can be read of a damaged or unfinished run to RUN.repaired, beside it",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(arguments: argparse.Namespace) -> int:
    check_reachable(arguments.path)
    unread: dict[Path, OSError] = {}
    runs = find_runs(arguments.path, unread.__setitem__) if is_folder(arguments.path) else []
    if not runs:
        check_folders_read(unread)
        raise NotARunError(
            f"There is no run in {shown_path(arguments.path)!r}.", "Name a log directory, or a run in it."
        )
    if arguments.repair:
        _check_repairable(arguments.path)
    reports = []
    with progress_line("checking", quiet=arguments.json) as advance:
        for name, path in runs:
            reports.append(check_run(name, path, advance))
            if arguments.repair and (reports[-1].damage or reports[-1].pending):
                reports[-1].repaired = _repair(path, advance)
    damaged = any(report.damage for report in reports)
    if arguments.json:
        print_json({"ok": not damaged, "runs": [asdict(report) for report in reports]})
    else:
        _print(reports)
    return 1 if report_unread(unread) or damaged else 0


def _check_repairable(path: Path) -> None:
    """Raises NotARunError where no copy can be written beside a run."""
    where = shown_path(path)
    if is_remote(path):
        raise NotARunError(f"{where} is not repaired where it is.", "Copy it to a folder here first.")
    if not path.is_dir():
        raise NotARunError(
            f"{where} is not repaired in its archive.", "Unpack it to a folder (unzip), and repair that."
        )


def _repair(path: Path, advance: Any) -> str | None:
    """Writes the repaired copy of a run beside it; returns where. None if even its run.json is lost."""
    out = path.with_name(f"{path.name}.repaired")
    try:
        return str(repair_run(path, out, lambda text: advance(f"repairing {path.name}: {text}")).path)
    except (NotARunError, FormatVersionError) as error:
        print(escaped(f"{path} cannot be repaired: {error}"), file=sys.stderr)
        return None


def check_run(name: str, path: Path, advance: Any = lambda _: None) -> Report:
    """Reads everything in the run at `path`. `advance` is called with a line of text now and then."""
    report = Report(name)
    try:
        reader = RunReader(path)
        damage = reader.info().damage
        workers = reader.workers()
    except (TensortapError, OSError) as error:
        report.damage.append(f"run.json: {error}")
        return report
    if damage:
        report.damage.append(f"{damage} 'check --repair' writes it anew, from what the workers say.")
    _check_graphs(reader, report)
    for worker in workers:
        report.workers += 1
        try:
            for text in _check_worker(path, reader, worker.worker, report):
                advance(f"{name}: {text}")
        except PermissionError:
            report.damage.append(str(DeniedError(worker.worker)))
        _check_events(path, worker.worker, report)
    for place in find_recordings(path, lambda folder, error: report.damage.append(_unread(folder, error))):
        advance(f"{name}: recording of step {place.step}")
        report.recordings += 1
        try:
            read_recording(place.path)
        except (TensortapError, OSError) as error:
            report.damage.append(f"recording {place.path.name}: {error}")
    return report


def _unread(folder: Path, error: OSError) -> str:
    if isinstance(error, PermissionError):
        return str(DeniedError(folder.name))
    return f"{folder.name} cannot be looked into: {error.strerror}."


def _check_graphs(reader: RunReader, report: Report) -> None:
    try:
        graph_ids = reader.graph_ids()
    except PermissionError:
        report.damage.append(str(DeniedError(GRAPHS)))
        return
    for graph_id in graph_ids:
        report.graphs += 1
        try:
            reader.graph(graph_id)
            check_graph_def(reader, graph_id)
        except (DamagedError, OSError) as error:
            report.damage.append(f"graph {graph_id}: {error}")


def _check_events(path: Path, worker: str, report: Report) -> None:
    tail = EventsTail(path, worker)
    while events := tail.poll():
        report.events += len(events)
    report.damage += tail.left_out


def _check_worker(path: Path, reader: RunReader, worker: str, report: Report) -> Iterator[str]:
    files = Completeness(path, worker)
    values = ValueCheck(path, worker)
    tail = reader.tail(worker)
    while commits := tail.poll():
        for commit in commits:
            for row in range(commit.batch.num_rows):
                values.check(commit.batch, row)
            files.note(commit.batch)
            report.snapshots += commit.batch.num_rows
            size = bytes_text(report.value_bytes + values.value_bytes)
            yield f"{counted(report.snapshots, 'snapshot')}, {size} of values"
    files.finish(tail)
    report.values += values.values
    report.value_bytes += values.value_bytes
    report.pruned += values.pruned
    report.unnamed_bytes += files.unnamed_bytes
    report.damage += [f"{worker}: {text}" for text in (*files.damage, *tail.damage, *values.damage())]
    report.damage += [] if tail.denied is None else [tail.denied]
    report.pending += [f"{worker}: {text}" for text in files.pending]


def _state(report: Report) -> tuple[str, str]:
    """In a word, and its style."""
    if report.damage:
        return "damaged", "bold red"
    return ("not complete", "yellow") if report.pending else ("ok", "green")


def _print(reports: list[Report]) -> None:
    out = console()
    for report in reports:
        state = cell(*_state(report))
        out.print(cell(report.run, "bold"), state)
        out.print(
            f"  {counted(report.workers, 'worker')}, {counted(report.graphs, 'graph')}, "
            f"{counted(report.snapshots, 'snapshot')}, "
            f"{counted(report.values, 'value')} ({bytes_text(report.value_bytes)})"
        )
        if report.events or report.recordings:
            out.print(f"  {counted(report.events, 'event')}, {counted(report.recordings, 'recording')}")
        if report.pruned:
            out.print(f"  {counted(report.pruned, 'value')} pruned")
        if report.unnamed_bytes:
            out.print(f"  {bytes_text(report.unnamed_bytes)} of values that no snapshot names")
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
            f"{damaged} of {counted(len(reports), 'run')} {verb} damaged; "
            "everything else in them stays readable.",
            file=sys.stderr,
        )
