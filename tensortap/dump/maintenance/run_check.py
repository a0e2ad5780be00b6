"""`check_run`: reads all of a run, and reports damaged, missing and unfinished data.

An engine reads the workers' files: a task takes several small workers, or some of the values of a large one.
"""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tensortap.core.errors import DamagedError, DeniedError, TensortapError
from tensortap.core.names import GRAPHS
from tensortap.core.progress import Notice, ignore_notice
from tensortap.core.text import counted
from tensortap.scale.engine import Engine
from tensortap.scale.local import LocalEngine
from tensortap.storage.filesystem import exists, scan
from tensortap.storage.links import follow_links, links_are_followed
from tensortap.storage.uri import is_remote
from tensortap.storage.zip_archive import archive_of

from ..format.events import EventsTail, incomplete_line
from ..format.layout import VIEWER_PART
from ..format.run_files import CLOSED_FILE, WorkerInfo
from ..read.runs import RunReader
from ..recording.recording_files import MANIFEST, check_recording, find_recordings
from .integrity import Completeness, ValueCheck, check_graph_def

TASK_BYTES = 256 << 20  # of the files that one task reads, about
_POLL = 16 << 20  # decoded bytes of statistics at a time


@dataclass
class Report:
    """Result of checking one run. `pending` is not damage: a worker is writing, or was stopped while it
    wrote. `unnamed_bytes`: bytes of values that no snapshot references. `compacted`: snapshots in
    `compact/`. `dropped`: snapshots and recordings that the workers report as lost."""

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
    compacted: int = 0
    dropped: int = 0
    pending: list[str] = field(default_factory=list)
    damage: list[str] = field(default_factory=list)
    repaired: str | None = None


def check_run(name: str, path: Path, advance: Notice = ignore_notice, engine: Engine | None = None) -> Report:
    """Reads everything in the run at `path`, and compares it with every checksum.

    Args:
        advance: called with a line of text now and then.
        engine: reads the workers' files; None: this process. Remote runs and archives are read by this
            process.

    Raises:
        TensortapError: a task failed, or a disk.
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
        report.damage.append(f"{damage} 'check --repair' restores it from the workers' files.")
    _check_graphs(reader, report)
    report.workers = len(workers)
    report.damage += reader.missing_folders().values()
    if engine is None or is_remote(path) or not path.is_dir():
        engine = LocalEngine(1)
    tasks = _plan_tasks(path, workers)

    def show(done: int, total: int) -> None:
        advance(f"{name}: {done:,} of {counted(total, 'part')}")

    for answer in engine.map(check_workers, tasks, show):
        _add(report, answer)
    report.damage = list(dict.fromkeys(report.damage))  # several workers may miss one graph
    report.damage += _check_viewer_part(path)
    unread = dict[Path, OSError]()
    places = find_recordings(path, unread.__setitem__)
    report.damage += [_unread(folder, error) for folder, error in unread.items()]
    for place in places:
        advance(f"{name}: recording of step {place.step}")
        report.recordings += 1
        if place.path in unread:
            continue
        try:
            check_recording(place.path)
        except (TensortapError, OSError) as error:
            report.damage.append(f"recording {place.path.name}: {error}")
    return report


def _check_viewer_part(path: Path) -> list[str]:
    """A sentence if the story beside a run in an archive does not match the archive's checksum of it."""
    found = None if is_remote(path) or path.is_dir() else archive_of(path)
    if found is None or VIEWER_PART not in found[0].files:
        return []
    try:
        with zipfile.ZipFile(found[0].path) as archive, archive.open(VIEWER_PART) as part:
            while part.read(_POLL):
                pass
    except (zipfile.BadZipFile, OSError, EOFError):
        return [
            f"{VIEWER_PART} does not match its checksum. Copy the archive again, or export the run again."
        ]
    return []


def _unread(folder: Path, error: OSError) -> str:
    if isinstance(error, PermissionError):
        return str(DeniedError(folder.name))
    if isinstance(error, FileNotFoundError):
        return f"recording {folder.name}: {MANIFEST} is missing. Copy it again."
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


def _missing_graphs(reader: RunReader, named: set[str]) -> list[str]:
    """Sentences about missing graphs that snapshots name."""
    try:
        gone = named - {"", *reader.graph_ids()}
    except PermissionError:  # reported with the graphs that are there
        return []
    return [f"graph {graph}: its file is missing. Copy it again." for graph in sorted(gone)]


def _check_events(path: Path, worker: str, report: Report) -> int | None:
    """Returns the number of events of a worker; None if some files are unreadable."""
    tail, count = EventsTail(path, worker), 0
    while events := tail.poll():
        count += len(events)
    report.events += count
    report.damage += tail.problems
    if tail.pending:
        ends = report.damage if exists(path / worker / CLOSED_FILE) else report.pending
        ends.append(f"{worker}: {incomplete_line(tail.pending)}")
    return None if tail.denied else count


def _plan_tasks(path: Path, workers: Sequence[WorkerInfo]) -> list[dict[str, Any]]:
    """Arguments of `check_workers`: small workers together, large ones in several shares."""
    shared = {"run": str(path if is_remote(path) else path.absolute()), "follow_links": links_are_followed()}
    tasks: list[dict[str, Any]] = []
    room = 0
    for worker in workers:
        size, value_files = _size(path / worker.worker)
        shares = max(1, min(-(-size // TASK_BYTES), value_files))
        for share in range(shares):
            if not tasks or room < size // shares:
                tasks.append(shared | {"workers": []})
                room = TASK_BYTES
            tasks[-1]["workers"].append([worker.worker, share, shares])
            room -= size // shares
    return tasks


def _size(folder: Path) -> tuple[int, int]:
    """Bytes of a worker's files, according to the list, and the number of values files."""
    try:
        entries = [entry for entry in scan(folder) if entry.is_file]
    except (OSError, DamagedError):  # reported by its reader
        return 0, 0
    files = sum(entry.name.startswith("values-") for entry in entries)
    return sum(max(entry.size, 0) for entry in entries), files


def check_workers(argument: dict[str, Any]) -> dict[str, Any]:
    """A task: reads the files of workers.

    Args:
        argument: `run`; `follow_links`; `workers`: [name, share, shares]: of the values, those in every
            `shares`-th file; what is not a value belongs to share 0.

    Returns:
        The fields of a `Report`.
    """
    if argument["follow_links"]:
        follow_links()
    path = Path(argument["run"])
    reader = RunReader(path)
    report = Report("")
    for name, share, shares in argument["workers"]:
        try:
            if share:
                _check_values(path, reader, name, share, shares, report)
            else:
                _check_worker(path, reader, reader.worker(name), shares, report)
        except PermissionError:
            if not share:
                report.damage.append(str(DeniedError(name)))
    return asdict(report)


def _add(report: Report, part: dict[str, Any]) -> None:
    for name, found in part.items():
        if isinstance(found, (int, list)):
            setattr(report, name, getattr(report, name) + found)


def _check_worker(path: Path, reader: RunReader, worker: WorkerInfo, shares: int, report: Report) -> None:
    files = Completeness(path, worker)
    values = ValueCheck(path, worker.worker)
    tail = reader.tail(worker.worker)
    graphs: set[str] = set()
    while commits := tail.poll(max_bytes=_POLL):
        for commit in commits:
            _check_rows(values, commit.batch, 0, shares)
            files.note(commit.batch)
            graphs |= set(pc.unique(commit.batch.column("graph")).to_pylist())
            report.snapshots += commit.batch.num_rows
    report.damage += _missing_graphs(reader, graphs)
    files.finish(tail, _check_events(path, worker.worker, report))
    report.unnamed_bytes += files.unnamed_bytes
    report.dropped += tail.dropped
    report.damage += [f"{worker.worker}: {text}" for text in (*files.damage, *tail.damage)]
    _add_values(report, values, worker.worker)
    report.damage += [] if tail.denied is None else [tail.denied]
    report.pending += [f"{worker.worker}: {text}" for text in files.pending]


def _check_values(
    path: Path, reader: RunReader, worker: str, share: int, shares: int, report: Report
) -> None:
    values = ValueCheck(path, worker)
    tail = reader.tail(worker)
    while commits := tail.poll(max_bytes=_POLL):
        for commit in commits:
            _check_rows(values, commit.batch, share, shares)
    _add_values(report, values, worker)


def _check_rows(values: ValueCheck, batch: pa.RecordBatch, share: int, shares: int) -> None:
    """Reads the values of a share that the rows of a commit name."""
    kept = pc.not_equal(batch.column("value_codec"), "").to_numpy(zero_copy_only=False)
    files = np.maximum(batch.column("value_file").to_numpy(), 0)
    for row in np.flatnonzero(kept & (files % shares == share)).tolist():
        values.check(batch, row)


def _add_values(report: Report, values: ValueCheck, worker: str) -> None:
    report.values += values.values
    report.value_bytes += values.value_bytes
    report.pruned += values.pruned
    report.damage += [f"{worker}: {text}" for text in values.damage()]
