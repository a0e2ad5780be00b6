"""`check_run`: reads all of a run, and reports what is damaged, missing or unfinished."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tensortap.core.errors import DamagedError, DeniedError, TensortapError
from tensortap.core.names import GRAPHS
from tensortap.core.text import bytes_text, counted
from tensortap.storage.filesystem import exists

from ..format.events import EventsTail
from ..format.run_files import CLOSED_FILE, WorkerInfo
from ..read.runs import RunReader
from ..recording.recording_files import find_recordings, read_recording
from .integrity import Completeness, ValueCheck, check_graph_def


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


def check_run(name: str, path: Path, advance: Callable[[str], object] = lambda _: None) -> Report:
    """Reads everything in the run at `path`, and compares it with every checksum.

    `advance` is called with a line of text now and then.
    """
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
            for text in _check_worker(path, reader, worker, report):
                advance(f"{name}: {text}")
        except PermissionError:
            report.damage.append(str(DeniedError(worker.worker)))
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
    return f"{folder.name} cannot be read: {error.strerror}."


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


def _check_events(path: Path, worker: str, report: Report) -> int | None:
    """Returns how many events a worker has; None if some may not be read."""
    tail, count = EventsTail(path, worker), 0
    while events := tail.poll():
        count += len(events)
    report.events += count
    report.damage += tail.left_out
    if tail.pending and exists(path / worker / CLOSED_FILE):
        report.damage.append(
            f"{worker}: its events end in {tail.pending:,} bytes that are not a complete line."
        )
    return None if tail.denied else count


def _check_worker(path: Path, reader: RunReader, worker: WorkerInfo, report: Report) -> Iterator[str]:
    files = Completeness(path, worker)
    values = ValueCheck(path, worker.worker)
    tail = reader.tail(worker.worker)
    while commits := tail.poll():
        for commit in commits:
            for row in range(commit.batch.num_rows):
                values.check(commit.batch, row)
            files.note(commit.batch)
            report.snapshots += commit.batch.num_rows
            size = bytes_text(report.value_bytes + values.value_bytes)
            yield f"{counted(report.snapshots, 'snapshot')}, {size} of values"
    files.finish(tail, _check_events(path, worker.worker, report))
    report.values += values.values
    report.value_bytes += values.value_bytes
    report.pruned += values.pruned
    report.unnamed_bytes += files.unnamed_bytes
    report.damage += [f"{worker.worker}: {text}" for text in (*files.damage, *tail.damage, *values.damage())]
    report.damage += [] if tail.denied is None else [tail.denied]
    report.pending += [f"{worker.worker}: {text}" for text in files.pending]
