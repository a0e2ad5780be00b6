"""Writes statistics files: rows are collected, and committed as one checksummed record batch."""

from __future__ import annotations

import contextlib
import os
from collections import deque
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from tensortap.core.records import Summary
from tensortap.storage.files import (
    check_not_removed,
    create,
    sync_folder,
    truncate,
    write_all,
)

from ..format.frames import EOS, encode
from ..format.layout import stats_path
from ..format.schema import SCHEMA_MESSAGE, Rows, build_batch

ROTATE = 64 << 20  # bytes of one file
MAX_PENDING = 10_000  # rows held while the disk refuses them
MAX_BATCH = 500  # rows of one commit: at most 30 MB decoded, where readers allow 128 MiB


class StatsWriter:
    """Commits rows to numbered files. Not thread safe: the caller holds a lock.

    A failed commit leaves its rows pending and is made up for in a new file, so that nothing ever follows a
    half-written frame. Beyond `MAX_PENDING` rows the oldest are dropped and counted.
    """

    def __init__(self, worker_dir: Path, compression: str | None, fsync: bool) -> None:
        self.dropped = 0
        self.lost = 0  # of these, rows that had been queued here
        self.committed = 0  # rows
        self._dir = worker_dir
        self._compression = compression
        self._fsync = fsync
        self._batches: deque[pa.RecordBatch] = deque()  # of at most MAX_BATCH rows
        self._rows = Rows()  # after them
        self._summaries: list[Summary] = []  # theirs
        self._pending = 0
        self._number = 0
        self._fd: int | None = None
        self._size = 0
        self._committed_drops = 0
        self._open()

    @property
    def pending(self) -> int:
        """Rows not committed yet."""
        return self._pending

    def add(self, rows: Rows, summaries: Sequence[Summary]) -> None:
        """Queues rows for the next commit."""
        if len(rows) == 1:  # collected: a record batch of one row costs as much as one of 50
            self._rows.extend(rows)
            self._summaries += summaries
        else:
            self._gather_rows()
            self._queue(build_batch(rows, summaries))
        self._pending += len(rows)
        self._drop_oldest()

    def commit(self) -> None:
        """Writes all pending rows.

        Raises:
            OSError: the disk refused; unwritten rows stay pending.
        """
        self._gather_rows()
        self._merge_batches()
        while self._batches or self.dropped != self._committed_drops:
            batch = self._batches[0] if self._batches else build_batch(Rows(), ())
            dropped = self.dropped
            status = {"dropped": dropped, "worker": self._dir.name}
            self._append(encode(batch, SCHEMA_MESSAGE, status, self._compression))
            if self._batches:
                self._batches.popleft()
                self._pending -= batch.num_rows
                self.committed += batch.num_rows
            self._committed_drops = dropped
            if self._size >= ROTATE:
                self._rotate_file()

    def close(self) -> None:
        """Commits, and marks the end of the stream. Raises OSError, but closes the file all the same."""
        try:
            self.commit()
            if self._fd is not None:
                write_all(self._fd, EOS, self._size)
                self._sync(self._fd)
        finally:
            self.abandon()

    def give_up(self) -> None:
        """After `close` failed: counts the queued rows as dropped, and records that if the disk allows it."""
        self._rows, self._summaries = Rows(), []
        self._batches.clear()
        self._lose(self._pending)
        with contextlib.suppress(OSError):
            self.close()

    def abandon(self) -> None:
        """Closes the file without an end mark: after a failure, or in a forked child, where it belongs to the
        parent."""
        if self._fd is not None:
            with contextlib.suppress(OSError):
                os.close(self._fd)
        self._fd = None

    def end_segment(self, least: int) -> None:
        """Continues in a new file if this one has `least` bytes. It gets no end mark: a reader of uploaded
        files sees it before its successor, and would take the mark for the end of the stream."""
        if self._size >= least:
            self._rotate_file(marked=False)

    @property
    def path(self) -> Path:
        """The file that is being written."""
        return stats_path(self._dir, self._number)

    def _gather_rows(self) -> None:
        if self._rows:
            self._queue(build_batch(self._rows, self._summaries))
            self._rows, self._summaries = Rows(), []

    def _queue(self, batch: pa.RecordBatch) -> None:
        for start in range(0, batch.num_rows, MAX_BATCH):
            self._batches.append(batch.slice(start, MAX_BATCH))

    def _merge_batches(self) -> None:
        """Merges many small batches into few large ones, which are smaller and faster to read."""
        groups: list[list[pa.RecordBatch]] = []
        rows = MAX_BATCH
        for batch in self._batches:
            rows += batch.num_rows
            if rows > MAX_BATCH:
                groups.append([])
                rows = batch.num_rows
            groups[-1].append(batch)
        self._batches = deque(_joined(group) for group in groups)

    def _drop_oldest(self) -> None:
        while self._pending > MAX_PENDING:
            self._gather_rows()
            oldest = self._batches.popleft()
            count = min(self._pending - MAX_PENDING, oldest.num_rows)
            if count < oldest.num_rows:
                self._batches.appendleft(oldest.slice(count))
            self._lose(count)

    def _lose(self, count: int) -> None:
        self._pending -= count
        self.dropped += count
        self.lost += count

    def _open(self) -> None:
        path = stats_path(self._dir, self._number)
        fd = create(path)
        try:
            write_all(fd, SCHEMA_MESSAGE, 0)
            self._sync(fd)
        except OSError:
            os.close(fd)
            with contextlib.suppress(OSError):
                path.unlink()
            raise
        if self._fsync:
            sync_folder(self._dir)
        self._fd = fd
        self._size = len(SCHEMA_MESSAGE)

    def _append(self, frame: bytes) -> None:
        if self._fd is None:
            self._open()
        assert self._fd is not None
        try:
            check_not_removed(self._fd, self.path)
            write_all(self._fd, frame, self._size)
            self._sync(self._fd)
        except OSError:
            truncate(self._fd, self._size)
            self.abandon()
            self._number += 1
            raise
        self._size += len(frame)

    def _rotate_file(self, marked: bool = True) -> None:
        """Opens the next file, then ends this one, so that a reader never takes its end for that of the
        stream."""
        old, old_size = self._fd, self._size
        self._number += 1
        try:
            self._open()
        except OSError:  # the commit itself succeeded; the next one tries again
            self._number -= 1
            return
        if old is not None:
            if marked:
                with contextlib.suppress(OSError):  # it counts as complete without, as it has a successor
                    write_all(old, EOS, old_size)
                    self._sync(old)
            os.close(old)

    def _sync(self, fd: int) -> None:
        if self._fsync:
            os.fsync(fd)


def _joined(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    """Joins several batches into one."""
    if len(batches) == 1:
        return batches[0]
    (joined,) = pa.Table.from_batches(batches).combine_chunks().to_batches()
    return joined
