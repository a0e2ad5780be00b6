"""The catalog: one row per snapshot in typed columns. Values stay in the dump."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from tensortap.core.deadline import check_time_limit
from tensortap.core.dtypes import Array
from tensortap.core.records import ELEMENT_KINDS
from tensortap.dump.format.schema import HISTOGRAM_COLUMNS
from tensortap.dump.read.stats_reader import Commit

from .columns import GrowingColumn, StringTable
from .decode import (
    INDEXED_COLUMNS,
    NOT_KEPT,
    STATISTICS_COLUMNS,
    ShapeTable,
    chunk,
    decode_histograms,
    filled,
    numbers,
    shard_numbers,
)
from .row_store import RowStore
from .segments import Segment
from .step_totals import GraphSteps, StepTally, StepTotals, Tally
from .tensor_table import TensorTable


class TensorTotals(NamedTuple):
    """Numbers of snapshots by tensor (its code): all, those with NaN or infinities, and those that differ
    from what the first worker captured at that moment."""

    tensor: Array
    snapshots: Array
    nonfinite: Array
    differing: Array


class CommitPlace(NamedTuple):
    """Position of a commit in the dump."""

    worker: str
    file: int
    offset: int
    length: int


class Catalog:
    """All snapshots of a run, in the order in which they were read. Rows never move and are never removed.

    One thread adds (under `lock`); others read up to `rows` without it.

    Attributes:
        parts: where the rows are. partial: how many rows have counts that do not add up to their size.
        pruned: values files that were removed on purpose, by code of their worker. prunings: how often that
        changed. unreported_counts: the counts that the source does not report, see `unknown_counts`.
        source: the format that the run was imported from, or empty.
        places: int64 columns that say where each commit is, see `CommitPlace`.
        differing: codes of the tensors that workers captured with different statistics, which compaction
            found out; None: they were not compared.
        writers: codes of graphs and the workers that captured them, of rows from compacted files.
        compacted_histograms: reads the histograms of some rows, (bucket ids, counts) each, where these were
            read from compacted files; None: they are in the parts, or in commits.

    Args:
        histograms: hold histograms, too, until they are saved.
    """

    rows_at_once = 1 << 21  # that are sorted or compared together, see `blocks`

    def __init__(self, run_dir: Path, *, histograms: bool = False) -> None:
        self.run_dir = run_dir
        self.lock = threading.RLock()
        self.rows = 0
        self.read_columns = INDEXED_COLUMNS + (HISTOGRAM_COLUMNS if histograms else ())
        self.tensors, self.steps, self.shapes = TensorTable(), StepTally(), ShapeTable()
        self.graph_steps = GraphSteps()
        self.workers, self.devices, self.dtypes = StringTable(), StringTable(), StringTable()
        self.worker_rows = Tally()
        self.nonfinite = 0
        self.partial = 0
        self.prunings = 0
        self.pruned: dict[int, frozenset[int]] = {}
        self.unreported_counts: frozenset[str] = frozenset()
        self.source = ""
        self.last_time: float | None = None
        self.differing: set[int] | None = None
        self.writers = set[tuple[int, int]]()
        self.compacted_histograms: Callable[[Catalog, Array], list[tuple[Array, Array]]] | None = None
        self.parts = RowStore(histograms)
        self.places = {name: GrowingColumn(np.int64) for name in ("row", "worker", *CommitPlace._fields[1:])}

    def drop_histograms(self) -> None:
        """Reads them from their commits from now on: there will be no saved index to put them into."""
        self.read_columns = INDEXED_COLUMNS
        self.parts.drop_histograms()

    @property
    def string_tables(self) -> dict[str, StringTable]:
        """The tables of texts that columns hold as codes."""
        return {
            "workers": self.workers,
            "devices": self.devices,
            "dtypes": self.dtypes,
            "graphs": self.tensors.graphs,
            "nodes": self.tensors.nodes,
        }

    @property
    def nbytes(self) -> int:
        """Bytes of the columns and side tables (strings not counted)."""
        return self.parts.nbytes + sum(column.nbytes for column in self.places.values())

    def add(self, worker: str, commits: Sequence[Commit]) -> int:
        """Appends the snapshots of a worker's commits; returns how many."""
        commits = [commit for commit in commits if commit.batch.num_rows]
        if not commits:
            return 0
        table = pa.Table.from_batches([commit.batch for commit in commits])
        table = table.select(list(self.read_columns)).combine_chunks()
        histograms = decode_histograms(table) if "bucket_id" in self.read_columns else None
        with self.lock:
            columns = self._decode(table)
            self._add_commits(self.workers.intern(worker), commits)
            self.parts.add(columns, histograms)
            self._count(columns, self.workers.intern(worker))
            self.rows += table.num_rows
        return int(table.num_rows)

    def add_compacted(
        self, segment: Segment, tensors: Sequence[TensorTotals], steps: Sequence[StepTotals]
    ) -> None:
        """Appends snapshots of which only the statistics were copied, and their totals. Under `lock`."""
        self.differing = self.differing or set()
        for by_tensor in tensors:
            self.tensors.note_rows(by_tensor.tensor[:0], self.rows)
            self.tensors.snapshots.add(by_tensor.tensor, by_tensor.snapshots)
            self.tensors.nonfinite.add(by_tensor.tensor, by_tensor.nonfinite)
            self.nonfinite += int(by_tensor.nonfinite.sum())
            self.differing.update(by_tensor.tensor[by_tensor.differing > 0].tolist())
        for by_step in steps:
            self.steps.add(by_step)
            self.graph_steps.add(by_step)
            self.partial += int(by_step.partial.sum())
            latest = float(by_step.last_time.max()) / 1e6
            self.last_time = latest if self.last_time is None else max(self.last_time, latest)
        self.parts.replace([*self.parts.segments, segment])
        self.rows += len(segment)

    def add_decoded(self, columns: dict[str, Array], places: Mapping[str, Array]) -> None:
        """Appends snapshots whose codes are those of this catalog, without histograms; `places` are those of
        their commits, `row` counted from the first of them. Under `lock`."""
        lengths = np.diff(np.append(places["row"], len(columns["step"])))
        for name, column in self.places.items():
            column.extend(places[name] + (self.rows if name == "row" else 0))
        self.worker_rows.count(np.repeat(places["worker"], lengths))
        self.parts.add(columns, None)
        self._count(columns, None)
        self.rows += len(columns["step"])

    def prune(self, worker: str, files: frozenset[int]) -> None:
        """Marks a worker's values files as pruned; their values are no longer available."""
        with self.lock:
            code = self.workers.code(worker)
            if code is None or self.pruned.get(code, frozenset()) == files:
                return
            self.pruned = self.pruned | {code: files}
            tensor = self.column("tensor", slice(0, self.rows))[self.column("kept", slice(0, self.rows))]
            self.tensors.kept.restore(np.bincount(tensor))
            self.prunings += 1

    def rows_of_tensor(self, code: int) -> Array:
        """Rows of one tensor, ascending."""
        return self.parts.rows_of("tensor", code, self.rows)

    def rows_of_step(self, code: int) -> Array:
        """Rows of one step (by its code), ascending."""
        return self.parts.rows_of("step", code, self.rows)

    def last_row(self, tensor: int) -> int:
        """The row of a tensor's latest snapshot."""
        row = self.tensors.last_row(tensor)
        return row if row >= 0 else self.parts.last_row_of("tensor", tensor)

    def column(self, name: str, rows: Array | slice) -> Array:
        """A column of codes, integers or float64, at some rows. `step` has steps, `time` microseconds,
        `shard` the number of the values file (-1: in the row; `NOT_KEPT` and below: no value). `kept` and
        `pruned` are bool: whether the value is available, or was removed to save space."""
        if name == "worker":
            return self._workers(rows)
        if name in ("kept", "pruned"):
            return self._values_left(rows, name)
        values = self.parts.column(name, rows, self.rows)
        return self.steps.values[values] if name == "step" else values

    def blocks(self) -> Iterator[slice]:
        """All rows, some at a time (of a run without rows, none once). Raises LimitError."""
        for first in range(0, max(1, self.rows), self.rows_at_once):
            check_time_limit()
            yield slice(first, min(first + self.rows_at_once, self.rows))

    def commits_of(self, rows: Array) -> tuple[Array, Array]:
        """The numbers of the commits with these rows, and the rows' positions in them."""
        starts = self.places["row"].view()
        commits = np.searchsorted(starts, rows, "right") - 1
        return commits, rows - starts[commits]

    def place(self, commit: int) -> CommitPlace:
        """Position of a commit."""
        worker, file, offset, length = (
            int(self.places[name].view()[commit]) for name in ("worker", *CommitPlace._fields[1:])
        )
        return CommitPlace(self.workers[worker], file, offset, length)

    def _values_left(self, rows: Array | slice, name: str) -> Array:
        """Which rows' values are there, or were removed to save space."""
        shard = self.column("shard", rows)
        stored: Array = shard > NOT_KEPT
        gone = np.zeros(len(shard), np.bool_)
        pruned = {worker: files for worker, files in self.pruned.items() if files}
        workers = self._workers(rows) if pruned else None
        for worker, files in pruned.items():
            gone |= (workers == worker) & np.isin(shard, list(files))
        return stored & ~gone if name == "kept" else gone

    def _workers(self, rows: Array | slice) -> Array:
        if self.compacted_histograms is not None:  # its commits are not here
            empty = not isinstance(rows, slice) and not len(rows)
            return np.zeros(0, np.int64) if empty else self.parts.column("worker", rows, self.rows)
        if isinstance(rows, slice):
            start, stop, _ = rows.indices(self.rows)
            return self._workers_between(start, max(start, stop))
        if len(self.workers) == 1:
            return np.zeros(len(rows), np.int64)
        commits = np.searchsorted(self.places["row"].view(), rows, "right") - 1
        return self.places["worker"].view()[commits]

    def _workers_between(self, start: int, stop: int) -> Array:
        """The workers of consecutive rows."""
        if start >= stop or len(self.workers) == 1:
            return np.zeros(max(stop - start, 0), np.int64)
        starts = self.places["row"].view()
        first, last = np.searchsorted(starts, (start, stop), "right") - 1
        edges = np.clip(np.append(starts[first : last + 1], stop), start, stop)
        return np.repeat(self.places["worker"].view()[first : last + 1], np.diff(edges))

    def _add_commits(self, worker: int, commits: Sequence[Commit]) -> None:
        lengths = np.array([commit.batch.num_rows for commit in commits], np.int64)
        self.places["worker"].extend(np.full(len(commits), worker))
        for name in CommitPlace._fields[1:]:
            self.places[name].extend(np.array([getattr(commit, name) for commit in commits], np.int64))
        self.places["row"].extend(self.rows + np.cumsum(lengths) - lengths)
        self.worker_rows.count(np.full(int(lengths.sum()), worker, np.int32))

    def _decode(self, table: pa.Table) -> dict[str, Array]:
        columns = {name: numbers(table, name) for name in ("visit", "time", *STATISTICS_COLUMNS)}
        graph = self.tensors.graphs.encode(chunk(table, "graph"))
        node = self.tensors.nodes.encode(chunk(table, "node"))
        return columns | {
            "tensor": self.tensors.encode(graph, node, numbers(table, "slot")),
            "step": self.steps.encode(numbers(table, "step")),
            "device": self.devices.encode(chunk(table, "device")),
            "dtype": self.dtypes.encode(chunk(table, "dtype")),
            "shape": self.shapes.encode(chunk(table, "shape")),
            "shard": shard_numbers(filled(table, "value_codec"), numbers(table, "value_file")),
        }

    def _count(self, columns: dict[str, Array], worker: int | None) -> None:
        """Counts rows of a worker; None: of several, of whose values no file is known to be removed."""
        nan, inf = columns["nan"] > 0, (columns["pos_inf"] > 0) | (columns["neg_inf"] > 0)
        bad, tensor = nan | inf, columns["tensor"]
        self.tensors.note_rows(tensor, self.rows)
        self.tensors.snapshots.count(tensor)
        shard = columns["shard"]
        there = (shard > NOT_KEPT) & ~np.isin(
            shard, list(() if worker is None else self.pruned.get(worker, ()))
        )
        self.tensors.kept.count(tensor[there])
        self.tensors.nonfinite.count(tensor[bad])
        self.steps.count(columns["step"], nan, inf, columns["time"])
        graphs, steps = self.tensors.columns(len(self.tensors))[0][tensor], self.steps.values[columns["step"]]
        self.graph_steps.count(graphs, steps, nan, inf, columns["time"])
        self.nonfinite += int(np.count_nonzero(bad))
        self.partial += self._count_partial(columns)
        latest = float(columns["time"].max()) / 1e6
        self.last_time = latest if self.last_time is None else max(self.last_time, latest)

    def _count_partial(self, columns: dict[str, Array]) -> int:
        counted: Array = np.sum([columns[name] for name in ELEMENT_KINDS], axis=0)
        text = columns["dtype"] == self.dtypes.code("string")
        return int(np.count_nonzero((columns["size"] > counted) & ~text))
