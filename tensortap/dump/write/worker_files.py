"""One writing process of a run: its folder, its statistics and values files."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections import deque
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any, NamedTuple

from tensortap.core.names import new_worker_name
from tensortap.core.records import Summary
from tensortap.storage.files import sync_folder

from ..format.events import EventsWriter
from ..format.run_files import WorkerSummary, write_closing, write_worker
from ..format.schema import REFUSED, Rows, Stored
from .retention import Retention, WorkerRetention
from .spool import MAX_SHARD, SEGMENT, Spool
from .stats_writer import StatsWriter
from .values_writer import EncodedValue, ValuesWriter

INLINE = 1024  # stored bytes up to which a value is in its statistics row


class WorkerFiles:
    """The files of one writing process. Not thread safe: the writer holds a lock.

    Raises:
        OSError: they cannot be made.
    """

    def __init__(
        self,
        run_dir: Path,
        info: dict[str, Any],
        rank: int | None,
        compression: str | None,
        fsync: bool,
        retention: Retention,
        spool: Spool | None = None,
    ) -> None:
        self.name = new_worker_name()
        self.visits = VisitCounter()
        self.seq = 0
        folder = self._dir = run_dir / self.name
        folder.mkdir()
        write_worker(folder, rank, info)
        if fsync:
            sync_folder(run_dir)
        self._spool = spool
        self._values = ValuesWriter(folder, fsync, MAX_SHARD if spool else retention.shard_bytes)
        self._retention = WorkerRetention(folder, retention)
        self._events = EventsWriter(folder, fsync)
        self._stats = StatsWriter(folder, compression, fsync)
        self._waiting: deque[_WaitingRows] = deque()
        self._spare = ReservedDiskSpace(folder)

    @property
    def pending(self) -> int:
        """Rows not committed yet."""
        return self._stats.pending

    @property
    def lost(self) -> int:
        """Rows that were added and could not be committed: they waited too long, or until `close`."""
        return self._stats.lost

    def store(self, value: EncodedValue, entry: str) -> Stored:
        """Stores a value: in its row if it is small, else in a values file, where it is once `settle` has
        returned. Raises OSError."""
        length = len(value.data)
        if length <= INLINE:
            return Stored(bytes(value.data), -1, 0, length, value.crc32c, value.codec)
        if self._spool is not None:
            self._spool.take(length)
        try:
            file, offset = self._values.append(entry, value.data, value.entry_dtype, value.shape, value.align)
        except OSError:
            self._queue_waiting()  # now: the next value takes the place of those that were not written
            raise
        if self._retention.note(file, entry):
            self._retention.apply()
        return Stored(None, file, offset, length, value.crc32c, value.codec, value.blocks)

    def add(self, rows: Rows, summaries: Sequence[Summary]) -> None:
        """Queues rows, numbered from `seq` on, once their values are in the files.

        Raises:
            OSError: the disk refused values. The rows are queued, marked where the value is missing.
        """
        self._waiting.append(_WaitingRows(rows, summaries, *self._values.end))
        self.seq += len(rows)
        if not self._values.writes_ahead:
            self.settle()
        while self._waiting and self._values.holds_all(self._waiting[0].file, self._waiting[0].end):
            self._stats.add(*self._waiting.popleft()[:2])

    def settle(self) -> None:
        """Writes the values that were stored, and queues the rows that wait for them. Raises OSError as
        `add`."""
        try:
            self._values.flush()
        finally:
            self._queue_waiting()

    def _queue_waiting(self) -> None:
        """Queues all rows; those whose values are not in the files are marked."""
        for rows, summaries, _, _ in self._waiting:
            rows.stored = [place if self._holds(place) else REFUSED for place in rows.stored]
            self._stats.add(rows, summaries)
        self._waiting.clear()

    def _holds(self, stored: Stored) -> bool:
        """Whether a value that was stored is there."""
        return stored.file < 0 or self._values.holds(stored.file, stored.offset + stored.length)

    def event(self, record: Mapping[str, Any]) -> None:
        """Writes an event. Raises InvalidValueError, OSError."""
        self._events.append(record)

    def drop(self, count: int) -> None:
        """Adds to the number of lost snapshots."""
        self._stats.dropped += count

    def commit(self) -> None:
        """Writes all queued rows, whose values are already written. Raises OSError; then they stay queued."""
        if self._spool is not None:
            self._spool.take(0)
        self._values.sync()
        self._stats.commit()
        self._retention.apply()

    def end_segments(self) -> None:
        """Continues in new files if the current ones are long enough for a final upload.

        Raises OSError; may be called again.
        """
        least = SEGMENT if self._spool is None else min(SEGMENT, self._spool.share)
        self._values.end_segment(least)
        self._stats.end_segment(least)
        self._events.end_segment(least)

    @property
    def open_files(self) -> list[Path | None]:
        """The files that are being written."""
        return [*self._values.paths, self._stats.path, self._events.path]

    def close(self) -> None:
        """Commits, seals the values, ends the statistics. Raises OSError, but leaves no file open, and counts
        uncommitted rows as lost."""
        try:
            self.settle()
            self._values.seal()
        finally:
            self._values.abandon()
            self._events.abandon()
            self._close_statistics()
        self._retention.apply(closing=True)

    def _close_statistics(self) -> None:
        try:
            self._stats.close()
        except OSError:
            self._spare.free()
            self._stats.give_up()
            raise
        finally:
            self._spare.free()
            said = WorkerSummary(self._stats.committed, self._stats.dropped, self._events.written)
            with contextlib.suppress(OSError):  # without losses; otherwise the loss is unknown
                write_closing(self._dir, said)

    def abandon(self) -> None:
        """Closes the files without sealing: in a forked child they belong to the parent."""
        self._waiting.clear()
        self._values.abandon()
        self._events.abandon()
        self._stats.abandon()
        self._spare.free()


class _WaitingRows(NamedTuple):
    """Rows whose values are on their way to the disk: up to the offset `end` of a shard."""

    rows: Rows
    summaries: Sequence[Summary]
    file: int
    end: int


_STEPS = 64  # of one tensor at the same time; a step that comes back after this many others starts at 0 again


class VisitCounter:
    """Numbers visits from 0 for each (graph, tensor, step)."""

    def __init__(self) -> None:
        self._next: dict[tuple[str, str], dict[int, int]] = {}

    def take(self, graph: str, tensor: str, step: int) -> int:
        """The number of this visit."""
        steps = self._next.setdefault((graph, tensor), {})
        visit = steps.get(step, 0)
        if not visit and len(steps) >= _STEPS:
            del steps[next(iter(steps))]
        steps[step] = visit + 1
        return visit


_BYTES = 16 << 10  # a statistics file that holds one commit without rows has 5 KB, `closed.json` less than 1


class ReservedDiskSpace:
    """An unnamed file that disappears with its process; none on systems without such files."""

    def __init__(self, folder: Path) -> None:
        self._file: IO[bytes] | None = None
        with contextlib.suppress(OSError):
            self._file = tempfile.TemporaryFile(dir=folder, buffering=0)  # noqa: SIM115  held until `free`
            self._file.write(os.urandom(_BYTES))  # zeros might be compressed, and take no room

    @property
    def held(self) -> int:
        """Bytes."""
        return _BYTES if self._file is not None else 0

    def free(self) -> None:
        """Frees the space; also called in a forked child, which has the file open, too."""
        if self._file is not None:
            with contextlib.suppress(OSError):
                self._file.close()
            self._file = None
