"""Logs many snapshots of one step in one go: measured together, queued as one record batch."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from tensortap.core.dtypes import STRING, Array, normalize
from tensortap.core.names import tensor_name
from tensortap.core.summary_table import SummaryTable
from tensortap.stats.batch import Measuring

from ..format.row_checks import (
    Snapshot,
    check_keep,
    check_text,
    check_visit,
    split_name,
)
from ..format.schema import NOT_KEPT, REFUSED, Columns, Stored, build_batch
from .value_encoding import encode_value
from .worker import INLINE, Worker

Normal = tuple[Array, str]


def check_snapshots(snapshots: Iterable[Snapshot]) -> list[Normal]:
    """The arrays in their normal form, with their logical dtypes.

    Raises:
        InvalidNameError, InvalidValueError: one of the snapshots cannot be dumped.
    """
    found = []
    for snapshot in snapshots:
        split_name(snapshot.name)
        check_visit(snapshot.visit)
        check_text("device", snapshot.device)
        check_keep(snapshot.keep)
        found.append(normalize(snapshot.array))
    return found


class Bulk:
    """Snapshots of one step and graph on their way into a worker's files.

    Args:
        snapshots: checked by `check_snapshots`, which found the arrays.
        step, graph, time: of all of them; `time` in microseconds since 1970.
        compress: whether values may be compressed.
    """

    def __init__(
        self,
        snapshots: Sequence[Snapshot],
        arrays: Sequence[Normal],
        *,
        step: int,
        graph: str,
        time: int,
        compress: bool,
    ) -> None:
        self._snapshots = snapshots
        self._arrays = arrays
        self._step = step
        self._graph = graph
        self._time = time
        self._compress = compress
        self._measuring = Measuring(len(arrays))
        # Tensors that share memory (reshaped or passed on) are measured and stored once. All arrays are held,
        # so an address stands for its contents.
        self._first: dict[tuple[int, int, str], int] = {}
        self._zeros: dict[int, int | None] = {}
        self._kept: dict[tuple[int, Any], Stored] = {}
        self.error: OSError | None = None

    def write(self, worker: Worker) -> SummaryTable:
        """Stores the values and queues the rows; returns the summaries, by row.

        If the disk refuses a value, it and those behind it are not kept, and `error` says why.
        """
        firsts, stored = [], []
        for row, snapshot in enumerate(self._snapshots):
            first = self._measure(row)
            firsts.append(first)
            stored.append(self._store(worker, row, first) if snapshot.keep == "value" else NOT_KEPT)
        summaries = self._measuring.table()
        if len(self._zeros) < len(firsts):
            summaries = summaries.take(firsts, [values.shape for values, _ in self._arrays])
        worker.add_batch(build_batch(self._columns(worker, summaries, stored)))
        return summaries

    def _measure(self, row: int) -> int:
        """Measures an array, unless that is done already; returns the row of which it is known."""
        values, dtype = self._arrays[row]
        if values.nbytes > INLINE and dtype != STRING:
            address = values.__array_interface__["data"][0]
            first = self._first.setdefault((address, values.size, dtype), row)
            if first != row:
                return first
        self._zeros[row] = self._measuring.add(row, values, dtype)
        return row

    def _store(self, worker: Worker, row: int, first: int) -> Stored:
        values, dtype = self._arrays[row]
        snapshot = self._snapshots[row]
        key = first, snapshot.sample
        if key in self._kept:
            return self._kept[key]
        if self.error is not None:
            return REFUSED
        zeros = (self._zeros[first] or 0) if self._compress else 0
        value = encode_value(values, dtype, zeros, snapshot.sample)
        node, slot = split_name(snapshot.name)
        try:
            place = worker.store(value, f"{tensor_name(node, slot)}@{self._step}#{worker.seq + row}")
        except OSError as error:
            self.error = error
            return REFUSED
        self._kept[key] = place
        return place

    def _columns(self, worker: Worker, summaries: SummaryTable, stored: list[Stored]) -> Columns:
        count = len(self._snapshots)
        nodes, slots = zip(*(split_name(snapshot.name) for snapshot in self._snapshots), strict=True)
        return Columns(
            seq=range(worker.seq, worker.seq + count),
            graph=[self._graph] * count,
            node=nodes,
            slot=slots,
            step=[self._step] * count,
            visit=[self._visit(worker, snapshot) for snapshot in self._snapshots],
            time=[self._time] * count,
            device=[snapshot.device for snapshot in self._snapshots],
            summaries=summaries,
            stored=stored,
        )

    def _visit(self, worker: Worker, snapshot: Snapshot) -> int:
        if snapshot.visit is not None:
            return snapshot.visit
        return worker.visits.take(self._graph, tensor_name(*split_name(snapshot.name)), self._step)
