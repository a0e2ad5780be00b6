"""One worker of a run, followed while it writes."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tensortap.compact.manifest import WorkerMark
from tensortap.core.errors import DamagedError
from tensortap.dump.format.layout import missing_statistics, pruned_files
from tensortap.dump.format.run_files import WorkerInfo, WorkerSummary, read_closing, wrong_count
from tensortap.dump.read.runs import RunReader
from tensortap.dump.read.stats_reader import TailPosition
from tensortap.storage.entry import Entry
from tensortap.storage.filesystem import scan

from .catalog.catalog import Catalog

# Of file at a time, some 90,000 snapshots: bounds the memory that decoding takes.
POLL_BYTES = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class WorkerStatus:
    """How far a worker was read. `started`: seconds since 1970; `dropped`: snapshots and recordings it lost,
    by its own count; `pending`: a sentence about a torn tail; `damage`: sentences about skipped data."""

    id: str
    host: str
    pid: int
    rank: int | None
    started: float
    closed: bool
    snapshots: int
    dropped: int
    pending: str | None
    damage: list[str]
    live: bool


class WorkerFollower:
    """Reads a worker's commits into the catalog as they appear."""

    def __init__(self, reader: RunReader, info: WorkerInfo, catalog: Catalog) -> None:
        self.info = info
        self._catalog = catalog
        self._folder = reader.path / info.worker
        self._tail = reader.tail(info.worker)
        self._live = False
        self._closing: WorkerSummary | None = None  # the worker's closing record, once known
        self._closing_damage = ""
        self._events: int | None = None
        self._missing_statistics: list[str] = []  # a sentence if all are
        self._at_end = False  # all statistics there are were read

    def poll(self) -> bool:
        """Continues reading; returns whether more may be left."""
        if self._read_on():
            return True
        if self._closing is None and not self._closing_damage:
            try:
                self._closing = read_closing(self._folder)
            except DamagedError as error:
                self._closing_damage = f"{self.info.worker}: {error}"
            except OSError:  # tried again
                return False
            return self._closing is not None and self._read_on()  # it may have been closed since
        return False

    def _read_on(self) -> bool:
        damage = len(self._tail.damage)
        commits = self._tail.poll(self._catalog.read_columns, POLL_BYTES)
        self._catalog.add(self.info.worker, commits)
        self._at_end = not commits and self._tail.denied is None
        return bool(commits) or len(self._tail.damage) > damage

    def count_events(self, count: int | None) -> None:
        """Number of events of this worker; None while more may be unread."""
        self._events = count

    def _missing(self) -> list[str]:
        """Missing parts of a closed worker: by itself, damage at the very end looks like a torn tail."""
        if self._closing is None or not self._at_end:
            return [*filter(None, [self._closing_damage]), *self._missing_statistics]
        found = []
        for what, there, said in (
            ("snapshot", self._snapshots, self._closing.snapshots),
            ("event", self._events, self._closing.events),
        ):
            # Skipped damage is reported separately; a torn tail after it means further losses.
            known = what == "snapshot" and self._tail.damage and not self._tail.pending
            if said is not None and there is not None and not known:
                found.append(wrong_count(self.info.worker, what, there, said))
        found = list(filter(None, found))
        if self._tail.pending and not found:
            found.append(f"{self.info.worker} was closed, but {self._tail.pending}")
        return found

    @property
    def _snapshots(self) -> int:
        code = self._catalog.workers.code(self.info.worker)
        return 0 if code is None else self._catalog.worker_rows.of(code)

    @property
    def position(self) -> TailPosition:
        """How far was read."""
        return self._tail.position

    def resume(self, position: TailPosition) -> None:
        """Continues after the end of a saved index. Raises DamagedError, FileNotFoundError."""
        self._tail.resume(position)

    def resume_compacted(self, mark: WorkerMark) -> None:
        """Resume after the statistics that only `compact/` holds."""
        with suppress(DamagedError, FileNotFoundError):  # their schema is unknown here
            self._tail.resume(mark.position)
        self._tail.closed = mark.closed

    def progress(self) -> tuple[int, int]:
        """Bytes of statistics files that were read, and that there are."""
        sizes = _stats_sizes(self._folder)
        position = self._tail.position
        done = sum(size for name, size in sizes.items() if name < f"stats-{position.file:06d}")
        return done + position.offset, sum(sizes.values())

    def look(self) -> None:
        """Finds out whether the worker is live, and which of its values were removed to save space."""
        entries = _entries(self._folder)
        names = [entry.name for entry in entries]
        self._catalog.prune(self.info.worker, pruned_files(names))
        self._missing_statistics = missing_statistics(self.info.worker, entries)
        self._live = False
        if not self._tail.closed:
            self._live = self.info.is_live(self._folder, entries)

    @property
    def denied(self) -> list[str]:
        """Sentences about unreadable files; they are read again later."""
        return [] if self._tail.denied is None else [self._tail.denied]

    def status(self) -> WorkerStatus:
        """Current status of the worker."""
        info, tail = self.info, self._tail
        pending, damage = tail.pending, self._missing()
        if tail.broken and self._closing is None and not self._live:  # no kill leaves this
            pending, damage = None, [*damage, f"{info.worker}: {pending}"]
        return WorkerStatus(
            id=info.worker,
            host=info.host,
            pid=info.pid,
            rank=info.rank,
            started=info.started.timestamp(),
            closed=tail.closed,
            snapshots=self._snapshots,
            dropped=tail.dropped,
            pending=pending,
            damage=[*filter(None, [info.damage]), *tail.damage, *damage, *self.denied],
            live=self._live,
        )


def _stats_sizes(folder: Path) -> dict[str, int]:
    """Sizes of a worker's statistics files by name."""
    return {entry.name: entry.size for entry in _entries(folder) if entry.name.startswith("stats-")}


def _entries(folder: Path) -> list[Entry]:
    """Entries of a worker's folder."""
    try:
        return list(scan(folder))
    except (OSError, DamagedError):  # it is just being removed
        return []
