"""DumpWriter: the one object that writes a dump. Framework-free."""

from __future__ import annotations

import atexit
import contextlib
import os
import threading
import time as clock
import weakref
from collections.abc import Sequence
from typing import Any, Self

from .addresses import local_path
from .bulk import Bulk, check_snapshots
from .dtypes import normalize
from .encoding import EncodedValue, encode_kept, encode_value
from .errors import DumpClosedError, InvalidValueError
from .graphs import write_graph
from .names import check_run_name, tensor_name
from .places import Place, Snapshot, check_keep, check_place, check_text, microseconds, whole_number
from .ragged import component_arrays
from .records import Graph, Keep, Summary
from .retention import Retention
from .sample import Sample
from .schema import NOT_KEPT, Row, Stored
from .statistics import summarize_normal
from .worker import Worker, ensure_run

COMMIT_ROWS = 100
COMMIT_SECONDS = 0.5
_COMPRESSIONS = ("zstd", "lz4", None)


class DumpWriter:
    """Writes a run, as one worker of it. A context manager; thread safe.

    A row is committed (readable, and safe from the process being killed) after at most 100 rows, at the first
    `log` that comes 0.5 s after the last commit, and when `flush` or `close` return. A forked child that goes
    on using its parent's writer becomes a worker of its own; what the parent had not committed stays the
    parent's.

    A full or failing disk shows as OSError from `log`, `flush` or `close`. The rows stay queued (10,000 at
    most, then the oldest are dropped and counted); `log` tries again every 0.5 s, `flush` at once. If a value
    cannot be stored, its summary is queued all the same.

    Args:
        logdir: the log directory.
        run: name of the run, a path below `logdir`; if it exists it gets a further worker.
        info: free facts for `run.json` (if this is the first worker) and `worker.json`.
        rank: number of this process in a distributed job.
        compression: `"zstd"`, `"lz4"` or None, of the statistics; with None values stay uncompressed, too.
        fsync: force every commit to the disk, so that it survives a power loss as well.
        keep_last, max_bytes: keep the values of the last steps only, or so many bytes of values in the run:
            old ones go first, by whole files; summaries stay (see `Retention`).

    Raises:
        InvalidNameError: `run` is not a run name.
        InvalidValueError: `info`, `rank` or `compression` is not possible.
        NotARunError, FormatVersionError: the run was written by something else, or a newer tensortap.
        OSError: the directory cannot be made.
    """

    _worker: Worker | None

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
    ) -> None:
        if compression not in _COMPRESSIONS:
            raise InvalidValueError(f"{compression!r} is not a compression.", "Use 'zstd', 'lz4' or None.")
        self.run_dir = local_path(logdir) / check_run_name(run)
        self._info = _facts(info)
        self._rank = _rank(rank)
        self._compression = compression
        self._fsync = fsync
        self._retention = Retention(keep_last, max_bytes)
        self._closed = False
        self._forget_worker()
        ensure_run(self.run_dir, run, self._info)
        self._current()
        _OPEN.add(self)

    @property
    def worker(self) -> str:
        """Name of the worker that this process writes as."""
        with self._lock:
            return self._worker.name if self._worker is not None else self._current().name

    def graph(self, graph: Graph) -> str:
        """Writes a graph, once for all workers that trace the same one; returns its id.

        Raises:
            DumpClosedError, OSError.
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
        """Dumps one snapshot.

        Args:
            name: tensor name, `node:slot`; slot 0 if it is left out.
            array: array, scalar, eager tensor, text; any shape. A ragged or sparse tensor, or a list of
            arrays of
                unequal length, is dumped as several tensors (`node/values:slot`, `node/row_splits_0:slot`,
                …).
            step: training step, >= 0.
            visit: which time the tensor is seen at this step; counted up by itself if left out.
            graph: id that `graph()` returned, or empty.
            device: where it was computed, or empty.
            keep: `"value"`, or `"summary"` to keep statistics and histogram only.
            time: seconds since 1970; now if left out.
            sample: which elements to keep of a value that has more than `sample.count`.

        Returns:
            The array's summary (that of the values, for a ragged or sparse tensor).

        Raises:
            InvalidNameError, InvalidValueError: nothing was dumped.
            DumpClosedError: the writer is closed.
            OSError: see the class.
        """
        place = check_place(name, step, visit, graph, device, clock.time() if time is None else time)
        check_keep(keep)
        parts = component_arrays(name, array)
        if parts is None:
            return self._log(place, array, keep, sample)
        options: dict[str, Any] = {"step": step, "visit": visit, "graph": graph, "device": device}
        summaries = [self.log(part, rows, keep=keep, time=time, **options) for part, rows in parts]
        return summaries[0]

    def log_many(
        self, snapshots: Sequence[Snapshot], *, step: int, graph: str = "", time: float | None = None
    ) -> Sequence[Summary]:
        """Dumps many snapshots of one step, in a tenth of the time that `log` takes for small ones.

        Arrays that show the same memory are measured and stored once.

        Args:
            snapshots: what `log` takes, but no ragged or sparse tensors.
            step, graph, time: of all of them, as for `log`.

        Returns:
            The summaries, one a snapshot, made when they are asked for.

        Raises:
            InvalidNameError, InvalidValueError: one of them cannot be dumped; nothing was.
            DumpClosedError: the writer is closed.
            OSError: see the class. The values of snapshots behind the first one that was refused are not
                kept either; all summaries are queued.
        """
        micros = microseconds(clock.time() if time is None else time)
        options: dict[str, Any] = {
            "step": whole_number("step", step, 63),
            "graph": check_text("graph", graph),
        }
        compress = self._compression is not None
        bulk = Bulk(snapshots, check_snapshots(snapshots), **options, time=micros, compress=compress)
        with self._lock:
            worker = self._current()
            summaries: Sequence[Summary] = bulk.write(worker) if snapshots else ()
            if bulk.error is not None:
                raise bulk.error
            self._commit_if_due(worker)
        return summaries

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
        kept: tuple[Any, Sample] | None = None,
    ) -> None:
        """Dumps a snapshot of which only the summary is known. Arguments and errors as for `log`.

        Args:
            kept: the elements of the value that are known too, [sample.kept(summary.size)], and which.
        """
        place = check_place(name, step, visit, graph, device, clock.time() if time is None else time)
        value = None if kept is None else encode_kept(*kept, summary.size)
        with self._lock:
            self._add(self._current(), place, summary, value)

    def dropped(self, count: int) -> None:
        """Adds to the number of snapshots lost before they came here; written with the next commit."""
        with self._lock:
            self._current().drop(count)

    def event(self, kind: str, *, step: int | None = None, **facts: Any) -> None:
        """Writes an event (FORMAT.md, "Events"), at once: what happened to the run besides snapshots.

        Args:
            kind: what kind of event it is.
            step: the step it belongs to, if it belongs to one.
            facts: JSON.

        Raises:
            InvalidValueError: it is no JSON, or more than 1 MiB. DumpClosedError: the writer is closed.
            OSError: the disk refused; the event is lost.
        """
        record: dict[str, Any] = {"kind": kind, "time": clock.time()}
        if step is not None:
            record["step"] = whole_number("step", step, 63)
        with self._lock:
            self._current().event(record | facts)

    def flush(self) -> None:
        """Commits everything logged so far, and returns once that is done.

        Raises:
            DumpClosedError: the writer is closed.
            OSError: the disk refused; the rows stay queued.
        """
        with self._lock:
            self._commit(self._current())

    def close(self) -> None:
        """Commits, seals the files and ends them in order. Does nothing if the writer is closed already.

        Raises:
            OSError: the disk refused; what was not committed is lost.
        """
        with self._lock:
            worker, self._worker = self._worker, None
            self._closed = True
            _OPEN.discard(self)
            if worker is not None:
                worker.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def _log(self, place: Place, array: Any, keep: Keep, sample: Sample | None) -> Summary:
        values, dtype = normalize(array)
        summary = summarize_normal(values, dtype)
        zeros = summary.zero if self._compression is not None else 0
        value = encode_value(values, dtype, zeros, sample) if keep == "value" else None
        with self._lock:
            self._add(self._current(), place, summary, value)
        return summary

    def _add(self, worker: Worker, place: Place, summary: Summary, value: EncodedValue | None) -> None:
        """Stores the value, if there is one, queues the row, and commits if it is time to."""
        stored: Stored = NOT_KEPT
        tensor = tensor_name(place.node, place.slot)
        try:
            if value is not None:
                stored = worker.store(value, f"{tensor}@{place.step}#{worker.seq}")
        finally:
            visit = place.visit
            if visit is None:
                visit = worker.visits.take(place.graph, tensor, place.step)
            worker.add(_row(worker.seq, place, visit, summary, stored))
        self._commit_if_due(worker)

    def _commit_if_due(self, worker: Worker) -> None:
        age = clock.monotonic() - self._last_try
        if age >= COMMIT_SECONDS or (worker.pending >= COMMIT_ROWS and not self._failing):
            self._commit(worker)

    def _commit(self, worker: Worker) -> None:
        self._last_try = clock.monotonic()
        self._failing = True
        worker.commit()
        self._failing = False

    def _current(self) -> Worker:
        """This process's worker; the caller holds the lock."""
        if self._closed:
            raise DumpClosedError(f"The writer of {self.run_dir} is closed.", "Open a new DumpWriter.")
        if self._worker is None:
            self._worker = Worker(
                self.run_dir, self._info, self._rank, self._compression, self._fsync, self._retention
            )
        return self._worker

    def _forget_worker(self) -> None:
        """The state of a writer whose worker is still to come: of a new one, or of one in a forked child."""
        self._lock = threading.RLock()
        self._worker = None
        self._last_try = clock.monotonic()
        self._failing = False

    def _after_fork(self) -> None:
        worker = self._worker
        self._forget_worker()
        if worker is not None:
            worker.abandon()


def _facts(info: Any) -> dict[str, Any]:
    if info is None:
        return {}
    if not isinstance(info, dict) or not all(isinstance(name, str) for name in info):
        raise InvalidValueError(f"info={info!r:.80} is no JSON object.", "Use a dict, as info={'lr': 0.1}.")
    return dict(info)


def _rank(rank: Any) -> int | None:
    return None if rank is None else whole_number("rank", rank, 31)


def _row(seq: int, place: Place, visit: int, summary: Summary, stored: Stored) -> Row:
    return Row(
        seq=seq,
        graph=place.graph,
        node=place.node,
        slot=place.slot,
        step=place.step,
        visit=visit,
        time=place.time,
        device=place.device,
        summary=summary,
        stored=stored,
    )


_OPEN: weakref.WeakSet[DumpWriter] = weakref.WeakSet()


def _close_all() -> None:
    """At exit: seals what the program left open. A disk that fails now can no longer be reported."""
    for writer in list(_OPEN):
        with contextlib.suppress(OSError):
            writer.close()


def _after_fork() -> None:
    for writer in list(_OPEN):
        writer._after_fork()


atexit.register(_close_all)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
