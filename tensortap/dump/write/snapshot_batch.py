"""From logged arrays to rows: what `DumpWriter.log` and `log_many` share.

Checked arguments are normalized, measured, encoded, stored, and queued as rows of the worker.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tensortap.core.dtypes import STRING, normalize
from tensortap.core.model import Summary
from tensortap.core.names import tensor_name
from tensortap.core.summary_table import SummaryTable
from tensortap.stats.batch import BatchSummarizer, SingleSummarizer

from ..format.row_checks import LoggedTensor, StepPlace, check_keep, check_text, check_visit, split_name
from ..format.schema import NOT_KEPT, REFUSED, Row, Stored
from .value_encoding import EncodedValue, encode_value
from .worker import INLINE, Worker


class SnapshotBatch:
    """Snapshots of one step and graph on their way into a worker's files.

    Tensors that share memory (reshaped or passed on) are measured and stored once.

    Args:
        compress: whether values may be compressed.

    Attributes:
        error: why the disk refused a value; those after it are not stored either.

    Raises:
        InvalidNameError, InvalidValueError: one of the snapshots cannot be dumped.
    """

    def __init__(self, snapshots: Sequence[LoggedTensor], place: StepPlace, *, compress: bool) -> None:
        self._snapshots = snapshots
        self._place = place
        self._compress = compress
        self._names = [_check(snapshot) for snapshot in snapshots]
        self._arrays = [normalize(snapshot.array) for snapshot in snapshots]
        self._summarizer = SingleSummarizer() if len(snapshots) == 1 else BatchSummarizer(len(snapshots))
        # All arrays are held, so an address stands for its contents.
        self._rows_by_memory: dict[tuple[int, int, str], int] = {}
        self._zeros: dict[int, int | None] = {}  # by row that was measured
        self._stored: dict[tuple[int, Any], Stored] = {}
        self.error: OSError | None = None
        # Here, before a lock is taken: threads that log a snapshot each do most of it side by side.
        self._first = self._encode(0, snapshots[0]) if snapshots else (0, None)

    def write(self, worker: Worker) -> Sequence[Summary]:
        """Stores the values and queues the rows; returns the summaries, by row."""
        rows, sources = [], []
        graph, step, time = self._place
        seq = worker.seq
        for i, snapshot in enumerate(self._snapshots):
            source, value = self._encode(i, snapshot) if i else self._first
            sources.append(source)
            stored = NOT_KEPT
            if snapshot.keep == "value":
                stored = self._store(worker, i, source, value)
            node, slot = self._names[i]
            visit = snapshot.visit
            if visit is None:
                visit = worker.visits.take(graph, tensor_name(node, slot), step)
            rows.append(Row(seq + i, graph, node, slot, step, visit, time, snapshot.device, stored))
        summaries = self._summarizer.summaries()
        if len(self._zeros) < len(rows) and isinstance(summaries, SummaryTable):
            summaries = summaries.take(sources, [values.shape for values, _ in self._arrays])
        worker.add(rows, summaries)
        return summaries

    def _encode(self, i: int, snapshot: LoggedTensor) -> tuple[int, EncodedValue | None]:
        """Measures and encodes an array, unless that is done; (row of which both are known, its value)."""
        values, dtype = self._arrays[i]
        source = i
        if values.nbytes > INLINE and dtype != STRING and len(self._arrays) > 1:
            address = values.__array_interface__["data"][0]
            source = self._rows_by_memory.setdefault((address, values.size, dtype), i)
        if source == i:
            self._zeros[i] = self._summarizer.add(i, values, dtype)
        if snapshot.keep != "value" or self.error is not None or (source, snapshot.sample) in self._stored:
            return source, None
        zeros = (self._zeros[source] or 0) if self._compress else 0
        return source, encode_value(values, dtype, zeros, snapshot.sample)

    def _store(self, worker: Worker, i: int, source: int, value: EncodedValue | None) -> Stored:
        key = source, self._snapshots[i].sample
        if value is None:
            return self._stored.get(key, REFUSED)
        entry = f"{tensor_name(*self._names[i])}@{self._place.step}#{worker.seq + i}"
        try:
            stored = worker.store(value, entry)
        except OSError as error:
            self.error = error
            return REFUSED
        self._stored[key] = stored
        return stored


def _check(snapshot: LoggedTensor) -> tuple[str, int]:
    """(node, slot). Raises InvalidNameError, InvalidValueError."""
    check_visit(snapshot.visit)
    check_text("device", snapshot.device)
    check_keep(snapshot.keep)
    return split_name(snapshot.name)
