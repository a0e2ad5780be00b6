"""DumpWriter: the only class that writes a dump. Framework-free."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time as clock
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

from tensortap.core.errors import DumpClosedError, InvalidValueError
from tensortap.core.names import check_run_name, tensor_name
from tensortap.core.records import Graph, Keep, Summary
from tensortap.core.sampling import Sample
from tensortap.storage.uri import is_remote, target_path

from ..format.graphs import write_graph
from ..format.row_checks import (
    LoggedTensor,
    Snapshot,
    check_info,
    check_step,
    check_summary,
    check_text,
    check_visit,
    split_name,
    whole_number,
)
from ..format.run_files import RANK_BITS, ensure_run
from ..format.schema import NOT_KEPT, REFUSED, Rows, Stored
from .destination import Destination
from .retention import Retention
from .snapshot_batch import SnapshotBatch, component_arrays
from .spool import SpooledFile
from .upload import Uploads
from .values_writer import EncodedValue, encode_kept
from .worker_files import WorkerFiles

# A commit of 500 rows takes a quarter less room than five of 100, and a third of the CPU time to read: those
# of a busy run are full. Otherwise 100 rows wait at most 0.1 s, and fewer are committed every 0.5 s.
COMMIT_ROWS = 500
SOON_ROWS, SOON_SECONDS = 100, 0.1
COMMIT_SECONDS = 0.5
_COMPRESSIONS = ("zstd", "lz4", None)


class DumpWriter:
    """Writes a run as one of its workers. A context manager; thread-safe.

    Rows are committed (readable, and safe if the process is killed) after at most 500 rows, at the first
    `log` 0.5 s after the last commit (0.1 s with 100 rows), and when `flush` or `close` return. If a forked
    child uses the writer of its parent, it becomes a separate worker; uncommitted rows stay with the parent.

    The last 24 MiB of large values may still be on their way to the disk when `log` returns; their rows are
    committed after them. If the disk refuses them, a later call raises.

    If the disk is full or fails, or the directory was removed, `log`, `flush` and `close` raise OSError. Up
    to 10,000 rows stay queued; older rows, and rows that still wait at `close`, are dropped and counted in
    `lost`. `log` retries every 0.5 s, `flush` immediately. A value that cannot be stored becomes a summary.

    Args:
        logdir: the log directory, or its address (`s3://bucket/logs`, docs/remote.md).
        run: name of the run, a path below `logdir`. An existing run gets another worker, without a warning:
            the processes of a job share a run.
        info: additional facts for `run.json` (only from the first worker) and `worker.json`.
        rank: number of this process in a distributed job.
        compression: codec of the statistics: `"zstd"`, `"lz4"` or None; with None, values are also
            uncompressed.
        fsync: force every commit to the disk, so that it survives a power loss.
        keep_last: keep the values of this number of last steps. Old values are removed in whole files;
            summaries stay (see `Retention`). Local runs only.
        max_bytes: keep at most this many bytes of values in the run, as for `keep_last`.
        spool_bytes: for a remote `logdir`, maximum size of the local files that wait to be uploaded. Beyond
            it, the disk counts as full.
        upload_seconds: how long `close` waits for the last uploads.

    Example:
        ```python
        with tensortap.DumpWriter("logs", run="numpy") as writer:
            writer.log("weights:0", np.ones((2, 3)), step=0, keep="value")
        ```

    Raises:
        InvalidNameError, InvalidValueError: `run` is not a valid name, or another argument is invalid.
        NotARunError, FormatVersionError: the run was written by something else, or a newer tensortap.
        RemoteError, OSError: the address cannot be written, or the directory cannot be created.
    """

    _worker: WorkerFiles | None

    def __init__(
        self,
        logdir: str | os.PathLike[str],
        run: str = "run",
        *,
        info: dict[str, Any] | None = None,
        rank: int | None = None,
        compression: str | None = "zstd",
        fsync: bool = False,
        keep_last: int | None = None,
        max_bytes: int | None = None,
        spool_bytes: int = 1 << 30,
        upload_seconds: float = 60.0,
    ) -> None:
        if compression not in _COMPRESSIONS:
            raise InvalidValueError(
                f"{compression!r} is not a compression codec.", "Use 'zstd', 'lz4' or None."
            )
        check_run_name(run)
        target = target_path(logdir)
        self._info = check_info(info)
        self._rank = None if rank is None else whole_number("rank", rank, RANK_BITS)
        self._compression = compression
        self._fsync = fsync
        retention = Retention(keep_last, max_bytes)
        self._destination = Destination(target, run, retention, spool_bytes, upload_seconds)
        self._closed = False
        self._reset_worker()
        if not is_remote(target):
            ensure_run(self.run_dir, run, self._info)
        self._current()
        _OPEN.add(self)

    @property
    def run_dir(self) -> Path:
        """The local directory of the run; for a remote run, its directory in the spool."""
        return self._destination.run_dir

    @property
    def uploads(self) -> Uploads:
        """State of the uploads so far."""
        return self._destination.uploads

    @property
    def worker(self) -> str:
        """Name of the worker of this process."""
        with self._lock:
            return self._worker.name if self._worker is not None else self._current().name

    def graph(self, graph: Graph) -> str:
        """Write a graph and return its id. Workers that trace the same graph write it once.

        Raises:
            DumpClosedError: the writer is closed. OSError: the file cannot be written.
        """
        with self._lock:
            self._current()
        return write_graph(self.run_dir, graph, self._compression)

    def log(
        self,
        name: str,
        array: Any,
        *,
        step: int,
        visit: int | None = None,
        graph: str = "",
        device: str = "",
        keep: Keep = "value",
        time: float | None = None,
        sample: Sample | None = None,
    ) -> Summary:
        """Write one snapshot.

        Args:
            name: tensor name, `node:slot`; the default slot is 0.
            array: array, scalar, eager tensor, text; any shape. A ragged or sparse tensor, or a list of
                arrays of unequal length, is stored as several tensors (`node/values:slot`,
                `node/row_splits_0:slot`, …).
            step: training step, >= 0.
            visit: index of the tensor's execution in this step; counted automatically by default.
            graph: id from `graph()`, or empty.
            device: where it was computed, or empty.
            keep: `"value"`, or `"summary"` for statistics and histogram only.
            time: seconds since 1970; the default is now.
            sample: which elements to store if the value has more than `sample.count`.

        Returns:
            The summary of the array (for a ragged or sparse tensor, of its values).

        Raises:
            InvalidNameError, InvalidValueError: nothing was written.
            DumpClosedError: the writer is closed. OSError: see the class.
        """
        parts = component_arrays(name, array)
        if parts is None:
            snapshots = [Snapshot(name, array, visit, device, keep, sample)]
        else:
            snapshots = [Snapshot(part, values, visit, device, keep) for part, values in parts]
        return self._log(snapshots, step, graph, time)[0]

    def log_many(
        self, snapshots: Sequence[LoggedTensor], *, step: int, graph: str = "", time: float | None = None
    ) -> Sequence[Summary]:
        """Write many snapshots of one step; for small arrays ten times faster than `log`.

        Arrays that share memory are measured and stored once. `step`, `graph` and `time` apply to all.

        Args:
            snapshots: `Snapshot`, or objects with its attributes, as for `log`; no ragged or sparse tensors.

        Returns:
            The summaries, one per snapshot, created on access.

        Raises:
            InvalidNameError, InvalidValueError: one of them is invalid; nothing was written.
            DumpClosedError: the writer is closed.
            OSError: see the class. Values after the first failed one are not stored; all summaries are
                queued.
        """
        return self._log(snapshots, step, graph, time)

    def log_summary(
        self,
        name: str,
        summary: Summary,
        *,
        step: int,
        visit: int | None = None,
        graph: str = "",
        device: str = "",
        time: float | None = None,
        kept: tuple[Any, Sample] | Stored | None = None,
    ) -> None:
        """Write a snapshot of a known summary. Arguments and errors as for `log`.

        Args:
            summary: the summary. Summaries that readers would refuse, e.g. with 255 dimensions, are an
                error.
            kept: the sampled elements, [sample.kept(summary.size)], and the sample; or `REFUSED` or `LOST`.
        """
        node, slot = split_name(name)
        place = check_step(step, graph, clock.time() if time is None else time)
        check_visit(visit)
        check_text("device", device)
        check_summary(summary)
        value = kept if kept is None or isinstance(kept, Stored) else encode_kept(*kept, summary.size)
        with self._lock:
            worker = self._current()
            stored = value if isinstance(value, Stored) else NOT_KEPT if value is None else REFUSED
            try:
                if isinstance(value, EncodedValue):
                    stored = worker.store(value, f"{tensor_name(node, slot)}@{place.step}#{worker.seq}")
            finally:
                if visit is None:
                    visit = worker.visits.take(graph, tensor_name(node, slot), step)
                steps, times = [place.step], [place.time]
                rows = Rows([worker.seq], [graph], [node], [slot], steps, [visit], times, [device], [stored])
                worker.add(rows, [summary])
            self._commit_if_due(worker)

    def dropped(self, count: int) -> None:
        """Add to the number of snapshots lost before they reached the writer; written with the next
        commit."""
        with self._lock:
            self._current().drop(count)

    def event(self, kind: str, /, *, step: int | None = None, **facts: Any) -> None:
        """Write an event immediately (FORMAT.md, "Events").

        Args:
            kind: what kind of event it is.
            step: its step, if any.
            facts: JSON.

        Raises:
            InvalidValueError: it is not JSON, or larger than 1 MiB. DumpClosedError: the writer is closed.
            OSError: the disk failed; the event is lost.
        """
        record: dict[str, Any] = {"kind": kind, "time": clock.time()}
        if step is not None:
            record["step"] = whole_number("step", step, 63)
        with self._lock:
            self._current().event(record | facts)

    def flush(self) -> None:
        """Commit everything logged so far, and wait for it; uploads follow within seconds.

        Raises:
            DumpClosedError: the writer is closed. OSError: the disk failed, and the rows stay queued; or an
                upload failed and will be retried.
        """
        self.commit()
        self._destination.wake()

    def commit(self) -> None:
        """Commit everything logged so far, without waiting for uploads.

        Raises:
            DumpClosedError: the writer is closed. OSError: the disk refused; the rows stay queued.
        """
        with self._lock:
            self._commit(self._current())

    def close(self) -> None:
        """Commit, seal and close all files, and wait for uploads.

        Does nothing if the writer is closed already.

        Raises:
            OSError: the disk failed; uncommitted rows are lost and counted in `lost`. Or uploads failed for
                `upload_seconds`; the error names the local copy.
        """
        with self._lock:
            worker, self._worker = self._worker, None
            self._closed = True
            _OPEN.discard(self)
        if worker is not None:
            try:
                with self._lock:
                    worker.close()
            finally:
                self.lost = worker.lost
                self._destination.finish()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def _log(
        self, snapshots: Sequence[LoggedTensor], step: int, graph: str, time: float | None
    ) -> Sequence[Summary]:
        place = check_step(step, graph, clock.time() if time is None else time)
        batch = SnapshotBatch(snapshots, place, compress=self._compression is not None)
        with self._lock:
            worker = self._current()
            summaries = batch.write(worker) if snapshots else ()
            if batch.error is not None:
                raise batch.error
            self._commit_if_due(worker)
        return summaries

    def _commit_if_due(self, worker: WorkerFiles) -> None:
        age = clock.monotonic() - self._last_try
        full = worker.pending >= (SOON_ROWS if age >= SOON_SECONDS else COMMIT_ROWS)
        if age >= COMMIT_SECONDS:
            self._commit(worker)
        elif full and not self._failing:
            self._commit_queued(worker)

    def _commit(self, worker: WorkerFiles) -> None:
        try:
            worker.settle()
        finally:
            self._commit_queued(worker)

    def _commit_queued(self, worker: WorkerFiles) -> None:
        self._last_try = clock.monotonic()
        self._failing = True
        worker.commit()
        self._failing = False

    def _current(self) -> WorkerFiles:
        """This process's worker; the caller holds the lock."""
        if self._closed:
            raise DumpClosedError(f"The writer of {self.run_dir} is closed.", "Open a new DumpWriter.")
        if self._worker is None:
            self._worker = self._destination.open(self._info, self._rank, self._compression, self._fsync)
            try:
                self._destination.start(self._take_parts)
            except BaseException:  # Ctrl-C, too: a worker without uploads would keep all to itself
                self._worker.abandon()
                self._worker = None
                raise
        return self._worker

    def _take_parts(self) -> list[SpooledFile]:
        """Files to upload: all of it belongs together. Called by the thread that uploads."""
        with self._lock:
            worker = self._worker
            if worker is None:
                return self._destination.parts(())
            with contextlib.suppress(OSError):  # `log` and `flush` report a disk that refuses
                self._commit(worker)
            with contextlib.suppress(OSError):
                worker.end_segments()
            return self._destination.parts(worker.open_files)

    def _reset_worker(self) -> None:
        """Resets the worker, for a new writer or in a forked child."""
        self._lock = threading.RLock()
        self._worker = None
        self.lost = 0
        self._last_try = clock.monotonic()
        self._failing = False

    def _after_fork(self) -> None:
        if (worker := self._worker) is not None:
            worker.abandon()
        self._reset_worker()
        self._destination.detach()


_OPEN: weakref.WeakSet[DumpWriter] = weakref.WeakSet()


def _close_all() -> None:
    """At exit: closes the writers that the program left open."""
    for writer in list(_OPEN):
        try:
            writer.close()
        except OSError as error:
            with contextlib.suppress(OSError, ValueError, AttributeError):  # there may be no stderr
                message = f"{error.strerror}; snapshots dropped: {writer.lost:,}"
                print(f"tensortap: {error.filename or writer.run_dir}: {message}", file=sys.stderr)


def _after_fork() -> None:
    for writer in list(_OPEN):
        writer._after_fork()


# After objects created later, such as taps: they still hand over what waits in their queues.
weakref.finalize(_OPEN, _close_all)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
