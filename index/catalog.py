"""The catalog: one row a snapshot in typed columns. Histograms and values stay in the dump."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from tensortap.dump import COUNTS, STATISTICS, Commit

from .columns import GrowingColumn, NarrowColumn, StringTable
from .decode import INDEXED_COLUMNS, STATISTICS_COLUMNS, ShapeTable, chunk, filled, numbers
from .postings import Postings
from .step_tally import GraphSteps, StepTally
from .tally import Tally
from .tensors import TensorTable

_NARROW = ("visit", "device", "dtype", "shape", "size", *COUNTS)

Array = np.ndarray[Any, np.dtype[Any]]


class CommitPlace(NamedTuple):
    """Where a commit lies in the dump."""

    worker: str
    file: int
    offset: int
    length: int


class Catalog:
    """All snapshots of a run, in the order in which they were read. Rows never move and are never removed.

    One thread adds (under `lock`); others read up to `rows` without it.
    """

    def __init__(self, run_dir: Path) -> None:
        self.run_dir = run_dir
        self.lock = threading.RLock()
        self.rows = 0
        self.tensors, self.steps, self.shapes = TensorTable(), StepTally(), ShapeTable()
        self.graph_steps = GraphSteps()
        self.workers, self.devices, self.dtypes = StringTable(), StringTable(), StringTable()
        self.worker_rows = Tally()
        self.nonfinite = 0
        self.last_time: float | None = None
        self._columns: dict[str, GrowingColumn] = {name: NarrowColumn() for name in _NARROW}
        self._columns |= {name: GrowingColumn(np.float64) for name in STATISTICS}
        self._columns |= {name: GrowingColumn(np.int32) for name in ("tensor", "step")}
        self._columns |= {"time": GrowingColumn(np.int64), "kept": GrowingColumn(np.bool_)}
        self._commits: list[CommitPlace] = []
        self._commit_row, self._commit_worker = GrowingColumn(np.int64), GrowingColumn(np.int32)
        self._by_tensor = Postings(self._columns["tensor"])
        self._by_step = Postings(self._columns["step"])

    @property
    def nbytes(self) -> int:
        """Bytes of the columns and side tables (strings not counted)."""
        columns = sum(column.nbytes for column in self._columns.values())
        return columns + self._by_tensor.nbytes + self._by_step.nbytes

    def add(self, worker: str, commits: Sequence[Commit]) -> int:
        """Appends the snapshots of a worker's commits; returns how many."""
        commits = [commit for commit in commits if commit.batch.num_rows]
        if not commits:
            return 0
        table = pa.Table.from_batches([commit.batch for commit in commits])
        table = table.select(list(INDEXED_COLUMNS)).combine_chunks()
        with self.lock:
            columns = self._decode(table)
            self._add_commits(self.workers.intern(worker), commits)
            for name, values in columns.items():
                self._columns[name].extend(values)
            self._count(columns)
            self.rows += table.num_rows
        return int(table.num_rows)

    def rows_of_tensor(self, code: int) -> Array:
        """Rows of one tensor, ascending."""
        return self._by_tensor.rows(code, self.rows)

    def rows_of_step(self, code: int) -> Array:
        """Rows of one step (by its code), ascending."""
        return self._by_step.rows(code, self.rows)

    def column(self, name: str, rows: Array | slice) -> Array:
        """A column of codes, integers or float64, at some rows. `step` holds steps, `time` microseconds."""
        if name == "worker":
            return self._workers(rows)
        values = self._columns[name].view(self.rows)[rows]
        return self.steps.values[values] if name == "step" else values

    def commits_of(self, rows: Array) -> tuple[Array, Array]:
        """The numbers of the commits that hold some rows, and the rows' numbers in them."""
        starts = self._commit_row.view()
        commits = np.searchsorted(starts, rows, "right") - 1
        return commits, rows - starts[commits]

    def place(self, commit: int) -> CommitPlace:
        """Where a commit lies."""
        return self._commits[commit]

    def _workers(self, rows: Array | slice) -> Array:
        if isinstance(rows, slice):
            rows = np.arange(self.rows)[rows]
        commits = np.searchsorted(self._commit_row.view(), rows, "right") - 1
        return self._commit_worker.view()[commits]

    def _add_commits(self, worker: int, commits: Sequence[Commit]) -> None:
        lengths = np.array([commit.batch.num_rows for commit in commits], np.int64)
        name = self.workers[worker]
        self._commits.extend(CommitPlace(name, c.file, c.offset, c.length) for c in commits)
        self._commit_worker.extend(np.full(len(commits), worker, np.int32))
        self._commit_row.extend(self.rows + np.cumsum(lengths) - lengths)
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
            "kept": filled(table, "value_codec"),
        }

    def _count(self, columns: dict[str, Array]) -> None:
        nan, inf = columns["nan"] > 0, (columns["pos_inf"] > 0) | (columns["neg_inf"] > 0)
        bad, tensor = nan | inf, columns["tensor"]
        self.tensors.note_rows(tensor, self.rows)
        self.tensors.snapshots.count(tensor)
        self.tensors.kept.count(tensor[columns["kept"]])
        self.tensors.nonfinite.count(tensor[bad])
        self.steps.count(columns["step"], nan, inf, columns["time"])
        graphs, steps = self.tensors.columns(len(self.tensors))[0][tensor], self.steps.values[columns["step"]]
        self.graph_steps.count(graphs, steps, nan, inf, columns["time"])
        self.nonfinite += int(np.count_nonzero(bad))
        latest = float(columns["time"].max()) / 1e6
        self.last_time = latest if self.last_time is None else max(self.last_time, latest)
