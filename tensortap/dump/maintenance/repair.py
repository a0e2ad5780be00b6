"""Repairs a run: copies its readable data into a new run next to it. The run itself is never changed."""

from __future__ import annotations

import os
import shutil
from dataclasses import asdict, dataclass, field
from pathlib import Path

import pyarrow as pa

from tensortap.core.errors import (
    DamagedError,
    InvalidNameError,
    InvalidValueError,
    TensortapError,
    ValueNotKeptError,
)
from tensortap.core.names import GRAPHS
from tensortap.core.progress import Notice, ignore_notice
from tensortap.core.text import counted
from tensortap.storage.files import (
    FileReader,
    create,
    publish,
    publish_json,
    write_all,
)
from tensortap.storage.filesystem import exists, scan

from ..format.events import EventsTail, EventsWriter
from ..format.frames import EOS, encode
from ..format.layout import stats_path
from ..format.run_files import (
    CLOSED_FILE,
    RUN_FILE,
    STARTED,
    WORKER_FILE,
    WorkerInfo,
    WorkerSummary,
    read_closing,
    read_worker_file,
    write_closing,
)
from ..format.schema import LOST, MINOR, SCHEMA, SCHEMA_MESSAGE
from ..read.runs import RunReader
from ..read.stats_reader import Commit, StatsTail, TailPosition
from ..read.values_reader import read_value, value_ref
from ..recording.blobs import LARGE, SMALL
from ..recording.recording_files import (
    FOLDER,
    MANIFEST,
    find_recordings,
    large_names,
    read_recording,
)
from ..write.stats_writer import ROTATE
from .integrity import check_graph_def, next_statistics

_COPY_BYTES = 4 << 20  # bytes copied at a time
_POLL = 8 << 20  # decoded bytes held at a time
_NO_VALUE = {f"value_{name}".removesuffix("_inline"): cell for name, cell in LOST._asdict().items()}


@dataclass(slots=True)
class Repaired:
    """Result of a repair: the copy at `path`, and sentences about missing data."""

    path: Path
    snapshots: int = 0
    values: int = 0
    skipped: list[str] = field(default_factory=list)


def repair_run(run_dir: Path, out: Path, advance: Notice = ignore_notice) -> Repaired:
    """Copies a run to `out`; `advance` is called now and then with how far it is.

    Unreadable commits are skipped; a snapshot with a missing or damaged value keeps its summary. Snapshots
    that a worker had committed when it was closed, and that are lost, count as lost (`dropped`). Workers,
    steps, visits and times stay as they are; recordings are copied where they are whole. Requests to the run
    (`watch.json`, `what-ifs.json`) are not part of it.

    Raises:
        InvalidNameError: there is something at `out`. OSError: the disk refused; the copy is removed, as it
        is after every failure. NotARunError, FormatVersionError: see `RunReader`.
    """
    reader = RunReader(run_dir)
    if os.path.lexists(out):
        raise InvalidNameError(f"{str(out)!r} already exists.", "Remove or rename it, and repair again.")
    done = Repaired(out)
    out.mkdir(parents=True)
    try:
        _copy_run_file(reader, out, done)
        done.skipped += reader.missing_folders().values()
        _copy_graphs(reader, out, done)
        for worker in reader.workers():
            if worker.run_id not in ("", reader.info().id):
                done.skipped.append(worker.damage)
                continue
            _Worker(reader, worker, done).copy(advance)
            publish(out / f"{worker.worker}{STARTED}", b"")
        for place in find_recordings(run_dir):
            advance(f"recording of step {place.step}")
            _copy_recording(place.path, out / FOLDER, done)
    except BaseException:
        shutil.rmtree(out, ignore_errors=True)
        raise
    return done


def _copy(source: Path, target: Path) -> None:
    with FileReader(source) as file:
        fd = create(target)
        try:
            for at in range(0, file.size, _COPY_BYTES):
                write_all(fd, file.read(at, _COPY_BYTES), at)
        finally:
            os.close(fd)


def _copy_run_file(reader: RunReader, out: Path, done: Repaired) -> None:
    """Copies `run.json`, or restores it from the workers' files."""
    info = reader.info()
    if not info.damage:
        _copy(reader.path / RUN_FILE, out / RUN_FILE)
        return
    done.skipped.append(info.damage)
    record = {
        "format": "tensortap",
        "version": info.version,
        "minor": MINOR,
        "run": info.run,
        "id": info.id,
        "created": info.created.isoformat(),
        "info": {"run.json": "It was lost, and a repair restored it."} | info.info,
    }
    publish_json(out / RUN_FILE, record)


def _copy_graphs(reader: RunReader, out: Path, done: Repaired) -> None:
    for graph_id in reader.graph_ids():
        try:
            reader.graph(graph_id)
            check_graph_def(reader, graph_id)
        except DamagedError as error:
            done.skipped.append(f"graph {graph_id}: {error.message}")
            continue
        (out / GRAPHS).mkdir(exist_ok=True)
        for suffix in (".pb", ".arrows"):
            source = reader.path / GRAPHS / f"{graph_id}{suffix}"
            try:
                _copy(source, out / GRAPHS / source.name)
            except FileNotFoundError:  # a graph need not have a GraphDef
                continue


def _copy_recording(source: Path, target: Path, done: Repaired) -> None:
    """Copies a recording to a folder of recordings, with the blobs that it shares with others."""
    try:
        read_recording(source)
    except TensortapError as error:
        done.skipped.append(f"recording {source.name}: {error.message}")
        return
    (target / LARGE).mkdir(parents=True, exist_ok=True)
    for name in large_names(source):
        if not exists(target / LARGE / name):
            _copy(source.parent / LARGE / name, target / LARGE / name)
    (target / source.name).mkdir()
    for name in (SMALL, MANIFEST):
        _copy(source / name, target / source.name / name)


class _Worker:
    """One worker's folder while it is copied."""

    def __init__(self, reader: RunReader, info: WorkerInfo, done: Repaired) -> None:
        name = info.worker
        self._reader, self._info, self._name, self._done = reader, info, name, done
        self._source, self._target = reader.path / name, done.path / name
        self._target.mkdir()
        self._number, self._fd, self._size = -1, -1, 0

    def copy(self, advance: Notice) -> None:
        """Copies files other than statistics, events and descriptions, and rewrites those."""
        for entry in scan(self._source):
            rewritten = entry.name.startswith(("stats-", "events-")) or entry.name.endswith(".tmp")
            if entry.is_file and not rewritten and entry.name not in (WORKER_FILE, CLOSED_FILE):
                self._copy_file(entry.name)
        self._copy_worker_file()
        events = self._copy_events()
        first = self._done.snapshots
        tail = self._reader.tail(self._name)
        try:
            self._next_file()
            self._copy_statistics(tail, advance)
            while (number := next_statistics(self._source, tail.position.file)) is not None:
                why = tail.denied or f"{stats_path(self._source, tail.position.file + 1).name} is missing."
                tail.resume(TailPosition(number, 0, None, tail.dropped, (*tail.damage, why)))
                self._copy_statistics(tail, advance)
            lost = tail.dropped + self._missing(self._done.snapshots - first)
            if lost > tail.dropped:
                nothing = pa.RecordBatch.from_pylist([], SCHEMA)
                status = {"dropped": lost, "worker": self._name}
                self._write(encode(nothing, SCHEMA_MESSAGE, status, "zstd"))
        finally:
            self._close()
        self._done.skipped += [f"{self._name}: {sentence}" for sentence in tail.damage]
        self._done.skipped += [f"{self._name}: {reason}" for reason in (tail.pending, tail.denied) if reason]
        write_closing(self._target, WorkerSummary(self._done.snapshots - first, lost, events))

    def _missing(self, copied: int) -> int:
        """Number of lost snapshots among those in the worker's `closed.json`."""
        try:
            closing = read_closing(self._source)
        except DamagedError as error:
            self._done.skipped.append(f"{self._name}: {error}")
            return 0
        if closing is None or closing.snapshots <= copied:
            return 0
        missing = closing.snapshots - copied
        gone = f"{missing:,} of {counted(closing.snapshots, 'snapshot')} are lost"
        self._done.skipped.append(f"{self._name}: {gone}, according to its {CLOSED_FILE}.")
        return missing

    def _copy_statistics(self, tail: StatsTail, advance: Notice) -> None:
        """Copies what `tail` reads, up to its end."""
        known = -1
        while True:
            commits = tail.poll(max_bytes=_POLL)
            for commit in commits:
                self._write(encode(self._sound(commit), SCHEMA_MESSAGE, commit.status, "zstd"))
                self._done.snapshots += commit.batch.num_rows
            advance(counted(self._done.snapshots, "snapshot"))
            if not commits and len(tail.damage) == known:
                return
            known = len(tail.damage)

    def _copy_worker_file(self) -> None:
        """Copies `worker.json`, or writes one from the folder's name."""
        try:
            read_worker_file(self._source)
            _copy(self._source / WORKER_FILE, self._target / WORKER_FILE)
        except (DamagedError, FileNotFoundError) as error:
            self._done.skipped.append(f"{self._name}/{WORKER_FILE}: {error}")
            record = asdict(self._info) | {"started": self._info.started.isoformat()}
            del record["damage"]
            publish_json(self._target / WORKER_FILE, record)

    def _copy_file(self, name: str) -> None:
        try:
            _copy(self._source / name, self._target / name)
        except (DamagedError, FileNotFoundError) as error:  # it vanished or was replaced
            self._done.skipped.append(f"{self._name}/{name}: {error}")

    def _copy_events(self) -> int:
        """Returns how many there are."""
        tail, writer = EventsTail(self._reader.path, self._name), EventsWriter(self._target, fsync=False)
        try:
            while events := tail.poll():
                for event in events:
                    try:
                        writer.append(event)
                    except InvalidValueError as error:
                        self._done.skipped.append(f"{self._name}, an event: {error.message}")
        finally:
            writer.abandon()
        self._done.skipped += tail.problems
        return writer.written

    def _sound(self, commit: Commit) -> pa.RecordBatch:
        """The batch of a commit, its values checked; those that are lost are struck out."""
        batch = commit.batch
        bad = [row for row in range(batch.num_rows) if not self._has_sound_value(batch, row)]
        columns = []
        for field_ in SCHEMA:
            column = batch.column(field_.name)
            if bad and field_.name in _NO_VALUE:
                cells = column.to_pylist()
                for row in bad:
                    cells[row] = _NO_VALUE[field_.name]
                column = pa.array(cells, field_.type)
            columns.append(column)
        return pa.RecordBatch.from_arrays(columns, schema=SCHEMA)

    def _has_sound_value(self, batch: pa.RecordBatch, row: int) -> bool:
        """False if a stored value is lost."""
        try:
            ref = value_ref(self._reader.path, self._name, batch, row)
            if ref is not None:
                read_value(ref)
                self._done.values += 1
        except ValueNotKeptError:
            return True  # pruned: the mark of that is copied, too
        except DamagedError as error:
            step, node = (batch.column(name)[row].as_py() for name in ("step", "node"))
            self._done.skipped.append(f"the value of {node} at step {step}: {error.message}")
            return False
        return True

    def _write(self, frame: bytes) -> None:
        if self._size >= ROTATE:
            self._next_file()
        write_all(self._fd, frame, self._size)
        self._size += len(frame)

    def _next_file(self) -> None:
        self._close()
        self._number += 1
        self._fd = create(stats_path(self._target, self._number))
        write_all(self._fd, SCHEMA_MESSAGE, 0)
        self._size = len(SCHEMA_MESSAGE)

    def _close(self) -> None:
        if self._fd >= 0:
            try:
                write_all(self._fd, EOS, self._size)
            finally:
                os.close(self._fd)
                self._fd = -1
