"""Writes batches into the dump. Runs in the writer's thread; a failing disk is told once and never raises."""

from __future__ import annotations

import errno
import shutil
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tensortap.dump import DumpWriter, InvalidNameError, InvalidValueError, Summary, warm_up

from .snapshots import Batch, BufferKey, Captured, GraphHandle, buffer_key
from .trouble import Trouble

_CHECK_SECONDS = 1.0
_RETRY_SECONDS = 5.0

REFUSALS = ("open", "reserve", "disk", "write", "unfit")
"""The kinds of trouble for which snapshots are lost here, the gravest first."""

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_FORBIDDEN = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})
_IN_THE_WAY = frozenset({errno.ENOTDIR, errno.EEXIST})


class BatchWriter:
    """A `Sink` over a `DumpWriter`, which it opens with the first batch.

    Args:
        open_writer: opens the writer; may fail, and is then tried again every 5 s.
        disk_reserve: bytes of free space below which nothing is written.
    """

    def __init__(self, open_writer: Callable[[], DumpWriter], trouble: Trouble, disk_reserve: int) -> None:
        self._open_writer = open_writer
        self._trouble = trouble
        self._disk_reserve = disk_reserve
        self._writer: DumpWriter | None = None
        self._next_try = 0.0
        self._next_check = 0.0
        self._has_room = True

    def prepare(self) -> None:
        """Compiles what measures arrays, while the first step is still computed."""
        try:
            warm_up()
        except Exception as error:
            self._trouble.tell("prepare", "the writer is not prepared", "It goes on all the same.", error)

    def write(self, batch: Batch) -> int:
        """Writes one batch, freeing each array as it goes; returns how many snapshots were lost."""
        writer = self._ready()
        if writer is None:
            return len(batch.captured)
        lost = 0
        summaries: dict[BufferKey, Summary] = {}
        while batch.captured:
            item = batch.captured.popleft()
            try:
                _write_one(writer, batch, item, summaries)
            except (InvalidNameError, InvalidValueError) as error:
                lost += 1
                self._trouble.tell("unfit", f"{item.candidate.name} cannot be dumped", "Exclude it.", error)
            except OSError as error:
                # The writer keeps the row and tries again later; only a value may be missing.
                self._trouble.tell("disk", "the dump cannot be written", _way_out(error), error)
                if not batch.graph.id:
                    lost += 1 + len(batch.captured)
                    batch.captured.clear()
            except Exception as error:
                lost += 1
                self._trouble.tell(
                    "write", f"{item.candidate.name} was not written", "Please report this.", error
                )
        return lost

    def flush(self, dropped: int) -> int:
        """Commits what was written; `dropped` goes into the dump's count. Returns 0: rows stay queued."""
        if dropped and self._writer is None:
            self._ready()
        if self._writer is not None:
            try:
                if dropped:
                    self._writer.dropped(dropped)
                self._writer.flush()
            except Exception as error:
                self._trouble.tell("disk", "the dump cannot be written", _way_out(error), error)
        return 0

    def close(self, dropped: int) -> int:
        """Commits and closes the files."""
        self.flush(dropped)
        writer, self._writer = self._writer, None
        if writer is not None:
            try:
                writer.close()
            except Exception as error:
                self._trouble.tell(
                    "close", "the dump could not be closed in order", "What was committed is safe.", error
                )
        return 0

    def _ready(self) -> DumpWriter | None:
        """The writer, unless it cannot be opened or the disk is nearly full."""
        now = time.monotonic()
        if self._writer is None and now >= self._next_try:
            self._next_try = now + _RETRY_SECONDS
            try:
                self._writer = self._open_writer()
            except Exception as error:
                self._trouble.tell("open", "the run cannot be opened", _way_out(error), error)
        if self._writer is not None and now >= self._next_check:
            self._next_check = now + _CHECK_SECONDS
            self._has_room = self._disk_has_room(self._writer)
        return self._writer if self._has_room else None

    def _disk_has_room(self, writer: DumpWriter) -> bool:
        try:
            free = shutil.disk_usage(writer.run_dir).free
        except OSError:
            return True  # the file system does not say; writing will show
        if free < self._disk_reserve:
            self._trouble.tell(
                "reserve",
                f"only {free >> 20} MiB are free at {writer.run_dir}, and below"
                f" {self._disk_reserve >> 20} MiB nothing is written",
                "Free space, or lower Tap(disk_reserve=…).",
            )
            return False
        return True


def _way_out(error: Exception) -> str:
    """What to do about a log directory that refuses."""
    if not isinstance(error, OSError):
        return "Choose another directory for the run. Training goes on."
    if error.errno in _FULL:
        way = "Free space or choose another log directory"
    elif error.errno in _FORBIDDEN:
        way = "Make the log directory writable or choose another one"
    elif error.errno in _IN_THE_WAY:
        way = "A file is where a directory is needed: move it away or choose another log directory"
    else:
        way = "See whether the log directory can be used, or choose another one"
    return f"{way}; tensortap tries again by itself. Training goes on."


def _write_one(writer: DumpWriter, batch: Batch, item: Captured, summaries: dict[BufferKey, Summary]) -> None:
    graph = _graph_id(batch.graph, writer)
    candidate = item.candidate
    key = buffer_key(item.array)
    known = summaries.get(key)
    place: dict[str, Any] = {
        "step": batch.step,
        "visit": item.visit,
        "graph": graph,
        "device": candidate.device,
        "time": batch.time,
    }
    if item.keep == "summary" and known is not None:
        writer.log_summary(candidate.name, replace(known, shape=item.array.shape), **place)
    else:
        summaries[key] = writer.log(candidate.name, item.array, keep=item.keep, sample=item.sample, **place)


def _graph_id(handle: GraphHandle, writer: DumpWriter) -> str:
    if handle.graph is not None:
        handle.id = writer.graph(handle.graph)
        handle.graph = None
    return handle.id
