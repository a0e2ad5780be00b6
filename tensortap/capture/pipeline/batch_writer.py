"""Writes messages into the dump, in the writer thread, while the disk has room.

It warns once of a failing disk, and never raises.
"""

from __future__ import annotations

import errno
import shutil
import time
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from pathlib import Path

from tensortap.core.errors import InvalidNameError, InvalidValueError
from tensortap.dump.write.writer import DumpWriter
from tensortap.stats.summarize import warm_up

from ..capture_warnings import OneTimeWarnings
from ..instrument.device_summary import DeviceSummary
from .messages import CapturedTensor, Event, GraphHandle, Message, TensorBatch, held_bytes, size_of

_CHECK_SECONDS = 1.0
_RETRY_SECONDS = 5.0
_PART_BYTES = 64 << 20  # of the tensors that are written, and freed, together

SNAPSHOT_LOSSES = ("open", "removed", "reserve", "disk", "write", "unfit", "close")
"""The kinds of warnings that say why snapshots are lost, the gravest first."""

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_FORBIDDEN = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})
_IN_THE_WAY = frozenset({errno.ENOTDIR, errno.EEXIST})


class BatchWriter:
    """A `Sink` that writes to a `DumpWriter`, opened with the first batch.

    Args:
        open_writer: opens the writer; may fail, and is then tried again every 5 s.
        reserve: the free space that is left alone.
    """

    def __init__(
        self, open_writer: Callable[[], DumpWriter], warnings: OneTimeWarnings, reserve: DiskReserve
    ) -> None:
        self._open_writer = open_writer
        self._warnings = warnings
        self._reserve = reserve
        self._writer: DumpWriter | None = None
        self._unreported = 0  # dropped snapshots that no writer was there to note
        self._next_try = 0.0
        self._next_check = 0.0
        self._has_room = True

    def prepare(self) -> None:
        """Compiles the statistics kernels while the first step is being computed."""
        try:
            warm_up()
        except Exception as error:
            self._warnings.warn("prepare", "the writer is not prepared", "Writing continues.", error)

    def write(self, message: Message) -> int:
        """Writes one message and frees its arrays; returns the number of lost snapshots."""
        writer = self._ready()
        if writer is None:
            return size_of(message)[0]
        if isinstance(message, Event):
            self._write_event(writer, message)
        return self._write_batch(writer, message) if isinstance(message, TensorBatch) else 0

    def _write_batch(self, writer: DumpWriter, batch: TensorBatch) -> int:
        lost = 0
        while batch.tensors:
            part = _next_part(batch)
            try:
                graph = self._graph_id(batch.graph, writer)
            except OSError as error:
                self._warn_of_disk(error)
                lost += len(part)
            else:
                lost += self._write_part(writer, batch, graph, part)
        return lost

    def _graph_id(self, handle: GraphHandle, writer: DumpWriter) -> str:
        """Writes the graph if that is not done; the id is empty without one.

        Raises:
            OSError: the disk refused.
        """
        try:
            if not handle.id and handle.known is not None:
                handle.id = writer.graph(handle.known)
        except OSError:
            raise
        except Exception as error:
            handle.known = None
            hint = "Its tensors are stored without a graph. Please report this."
            self._warnings.warn("graph", "a graph was not written", hint, error)
        return handle.id

    def _write_event(self, writer: DumpWriter, event: Event) -> None:
        try:
            facts = event.facts() if callable(event.facts) else event.facts
            writer.event(event.kind, step=event.step, **facts)
        except OSError as error:
            self._warn_of_disk(error)
        except Exception as error:
            self._warnings.warn("event", f"a {event.kind} was not recorded", "Please report this.", error)

    def _write_part(
        self, writer: DumpWriter, batch: TensorBatch, graph: str, part: Sequence[CapturedTensor]
    ) -> int:
        """Returns how many of these snapshots were lost."""
        try:
            for summarized, items in groupby(part, lambda item: isinstance(item.array, DeviceSummary)):
                if summarized:
                    _log_summaries(writer, batch, graph, items)
                else:
                    writer.log_many(list(items), step=batch.step, graph=graph, time=batch.time)
        except OSError as error:
            self._warn_of_disk(error)  # rows stay queued and are tried again; values may be missing
        except Exception as error:
            if len(part) > 1:  # one that cannot be dumped must not take the others along
                return sum(self._write_part(writer, batch, graph, [item]) for item in part)
            name = part[0].name
            if isinstance(error, InvalidNameError | InvalidValueError):
                self._warnings.warn("unfit", f"{name} cannot be stored", "Exclude it.", error)
            else:
                self._warnings.warn("write", f"{name} was not written", "Please report this.", error)
            return 1
        return 0

    def _warn_of_disk(self, error: Exception) -> None:
        if self._writer is None or self._is_there(self._writer):  # else it warns about that
            self._warnings.warn("disk", "the dump cannot be written", _suggested_fix(error), error)

    def flush(self, dropped: int) -> int:
        """Commits the written rows; adds `dropped` to the dump's count. Returns 0, because rows stay
        queued."""
        self._unreported += dropped
        if self._unreported and self._writer is None:
            self._ready()
        if self._writer is not None:
            try:
                self._writer.dropped(self._unreported)
                self._unreported = 0
                self._writer.flush()
            except Exception as error:
                self._warn_of_disk(error)
        return 0

    def commit(self) -> None:
        """Commits the written rows, so that a page shows them while the program pauses."""
        if self._writer is not None:
            try:
                self._writer.commit()
            except Exception as error:
                self._warn_of_disk(error)

    def close(self, dropped: int) -> int:
        """Commits and closes the files; returns how many snapshots had waited for the disk in vain."""
        self._next_try = 0.0  # the last chance to record losses
        self.flush(dropped)
        writer, self._writer = self._writer, None
        if writer is not None:
            try:
                writer.close()
            except Exception as error:
                if self._is_there(writer):
                    self._warnings.warn(
                        "close", "the dump could not be closed properly", "Committed data are safe.", error
                    )
            return writer.lost
        return 0

    def _ready(self) -> DumpWriter | None:
        """The writer, unless it cannot be opened or the disk is nearly full."""
        now = time.monotonic()
        if self._writer is None and now >= self._next_try:
            self._next_try = now + _RETRY_SECONDS
            try:
                self._writer = self._open_writer()
            except Exception as error:
                self._warnings.warn("open", "the run cannot be opened", _suggested_fix(error), error)
        if self._writer is not None and now >= self._next_check:
            self._next_check = now + _CHECK_SECONDS
            self._has_room = self._is_there(self._writer) and self._reserve.has_room(self._writer.run_dir)
        return self._writer if self._has_room else None

    def _is_there(self, writer: DumpWriter) -> bool:
        """Whether the run's directory still exists: deleted files accept writes without keeping them."""
        try:
            writer.run_dir.stat()
        except FileNotFoundError:
            pass
        except OSError:
            return True  # the file system does not say; writing will show
        else:
            return True
        self._warnings.warn(
            "removed",
            f"the directory of the run was removed ({writer.run_dir})",
            "Restore it, or restart the program to capture more. Training continues.",
        )
        return False


def _suggested_fix(error: Exception) -> str:
    """Suggest a fix for a log directory that cannot be written."""
    if not isinstance(error, OSError):
        return "Choose another directory for the run. Training continues."
    if error.errno in _FULL:
        way = "Free space or choose another log directory"
    elif error.errno in _FORBIDDEN:
        way = "Make the log directory writable or choose another one"
    elif error.errno in _IN_THE_WAY:
        way = "A file blocks the directory: move it, or choose another log directory"
    else:
        way = "Check the log directory, or choose another one"
    return f"{way}; tensortap retries automatically. Training continues."


def _next_part(batch: TensorBatch) -> list[CapturedTensor]:
    """The next snapshots of a batch, taken out of it, so that they are freed when they are written."""
    part: list[CapturedTensor] = []
    nbytes = 0
    while batch.tensors and nbytes < _PART_BYTES:
        nbytes += held_bytes(batch.tensors[0].array)
        if part and nbytes > _PART_BYTES:
            break
        part.append(batch.tensors.popleft())
    return part


def _log_summaries(
    writer: DumpWriter, batch: TensorBatch, graph: str, tensors: Iterable[CapturedTensor]
) -> None:
    for tensor in tensors:
        if isinstance(tensor.array, DeviceSummary):
            writer.log_summary(
                tensor.name,
                tensor.array.summary,
                step=batch.step,
                visit=tensor.visit,
                graph=graph,
                device=tensor.device,
                time=batch.time,
            )


class DiskReserve:
    """Free disk space to reserve; checked before snapshots and recordings are written.

    Args:
        least: bytes of free space below which nothing is written.
    """

    def __init__(self, least: int, warnings: OneTimeWarnings) -> None:
        self._least, self._warnings = least, warnings

    def has_room(self, folder: Path) -> bool:
        """Whether there is more free space where this folder is; warns once if there is not."""
        try:
            free = shutil.disk_usage(folder).free
        except OSError:
            return True  # the file system does not say; writing will show
        if free < self._least:
            self._warnings.warn(
                "reserve",
                f"only {free >> 20} MiB are free at {folder}; below {self._least >> 20} MiB no "
                "snapshots or recordings are written",
                "Free space, or lower Tap(disk_reserve=…).",
            )
            return False
        return True
