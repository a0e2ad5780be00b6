"""Converts logged arrays to rows, for `DumpWriter.log` and `log_many`.

Composite values (ragged, sparse, uneven lists) are split into arrays; arrays are normalized, measured,
encoded, stored, and queued as rows of the worker.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from tensortap.core.dtypes import STRING, Array, normalize
from tensortap.core.errors import InvalidValueError
from tensortap.core.names import parse_tensor_name, tensor_name
from tensortap.core.records import Summary, SummaryTable
from tensortap.stats.batch import BatchSummarizer, SingleSummarizer

from ..format.row_checks import LoggedTensor, StepPlace, check_head
from ..format.schema import NOT_KEPT, REFUSED, Rows, Stored
from .values_writer import EncodedValue, encode_value
from .worker_files import INLINE, WorkerFiles


class SnapshotBatch:
    """Snapshots of one step and graph on their way into a worker's files.

    Tensors that share memory (reshaped or propagated) are measured and stored once.

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
        names = [check_head(snapshot) for snapshot in snapshots]
        self._nodes, self._slots = [node for node, _ in names], [slot for _, slot in names]
        self._arrays: list[Array] = []
        self._dtypes: list[str] = []
        for snapshot in snapshots:
            array, dtype = normalize(snapshot.array)
            self._arrays.append(array)
            self._dtypes.append(dtype)
        self._summarizer = SingleSummarizer() if len(snapshots) == 1 else BatchSummarizer(len(snapshots))
        # All arrays are referenced, so an address identifies its content.
        self._rows_by_memory: dict[tuple[int, int, str], int] = {}
        self._zeros: dict[int, int | None] = {}  # by row that was measured
        self._stored: dict[tuple[int, Any], Stored] = {}
        self.error: OSError | None = None
        # Here, before a lock is taken: threads that log a snapshot each do most of it side by side.
        self._first = self._encode(0, snapshots[0]) if snapshots else (0, None)

    def write(self, worker: WorkerFiles) -> Sequence[Summary]:
        """Stores the values and queues the rows; returns the summaries, by row."""
        sources: list[int] = []
        visits: list[int] = []
        places: list[Stored] = []
        graph, step, time = self._place
        for i, snapshot in enumerate(self._snapshots):
            source, value = self._encode(i, snapshot) if i else self._first
            sources.append(source)
            places.append(NOT_KEPT if snapshot.keep != "value" else self._store(worker, i, source, value))
            visit = snapshot.visit
            if visit is None:
                visit = worker.visits.take(graph, self._name(i), step)
            visits.append(visit)
        summaries = self._summarizer.summaries()
        count, first = len(sources), worker.seq
        if len(self._zeros) < count and isinstance(summaries, SummaryTable):
            summaries = summaries.take(sources, [values.shape for values in self._arrays])
        rows = Rows(
            list(range(first, first + count)),
            [graph] * count,
            self._nodes,
            self._slots,
            [step] * count,
            visits,
            [time] * count,
            [snapshot.device for snapshot in self._snapshots],
            places,
        )
        try:
            worker.add(rows, summaries)
        except OSError as error:
            self.error = self.error or error
        return summaries

    def _name(self, i: int) -> str:
        return tensor_name(self._nodes[i], self._slots[i])

    def _encode(self, i: int, snapshot: LoggedTensor) -> tuple[int, EncodedValue | None]:
        """Measures and encodes an array, unless already done; (row with both known, its value)."""
        values, dtype = self._arrays[i], self._dtypes[i]
        source = i
        if values.nbytes > INLINE and dtype != STRING and len(self._arrays) > 1:
            address = pa.py_buffer(values).address  # NumPy's own ways to it take seven times longer
            source = self._rows_by_memory.setdefault((address, values.size, dtype), i)
        if source == i:
            self._zeros[i] = self._summarizer.add(i, values, dtype)
        if snapshot.keep != "value" or self.error is not None or (source, snapshot.sample) in self._stored:
            return source, None
        zeros = (self._zeros[source] or 0) if self._compress else 0
        return source, encode_value(values, dtype, zeros, snapshot.sample)

    def _store(self, worker: WorkerFiles, i: int, source: int, value: EncodedValue | None) -> Stored:
        key = source, self._snapshots[i].sample
        if value is None:
            return self._stored.get(key, REFUSED)
        entry = f"{self._name(i)}@{self._place.step}#{worker.seq + i}"
        try:
            stored = worker.store(value, entry)
        except OSError as error:
            self.error = error
            return REFUSED
        self._stored[key] = stored
        return stored


Parts = list[tuple[str, Any]]


def component_arrays(name: str, value: Any) -> Parts | None:
    """Splits a composite value into `(tensor name, array)` components; None for other values.

    - Ragged tensors (anything with `flat_values` and `nested_row_splits`): `node/values:slot` and
      `node/row_splits_0:slot` …, outermost first.
    - Sparse tensors (`indices`, `values`, `dense_shape`): `node/values:slot`, `node/indices:slot`,
    `node/dense_shape:slot`.
    - A list or tuple of arrays that differ in their first extent only: as a ragged tensor.

    Raises:
        InvalidValueError: the rows of a list do not fit together.
    """
    if hasattr(value, "flat_values") and hasattr(value, "nested_row_splits"):
        return _ragged(name, value.flat_values, value.nested_row_splits)
    if all(hasattr(value, attribute) for attribute in ("indices", "values", "dense_shape")):
        found = [
            (_component(name, part), getattr(value, part)) for part in ("values", "indices", "dense_shape")
        ]
        return [(part, array) for part, array in found if array is not None]
    if isinstance(value, (list, tuple)) and _is_uneven(value):
        rows = [np.asarray(row) for row in value]
        return _ragged(name, _join(name, rows), [np.cumsum([0, *map(len, rows)], dtype=np.int64)])
    return None


def _component(name: str, part: str) -> str:
    node, slot = parse_tensor_name(name)
    return tensor_name(f"{node}/{part}", slot)


def _ragged(name: str, flat_values: Any, splits: Sequence[Any]) -> Parts:
    rows = [(_component(name, f"row_splits_{i}"), split) for i, split in enumerate(splits)]
    return [(_component(name, "values"), flat_values), *rows]


def _is_uneven(rows: Sequence[Any]) -> bool:
    """Whether a list contains sequences of unequal length, from which NumPy cannot build an array."""
    lengths = {
        len(row) if hasattr(row, "__len__") and not isinstance(row, (str, bytes)) else -1 for row in rows
    }
    return len(lengths) > 1


def _join(name: str, rows: Sequence[Array]) -> Array:
    filled = [row for row in rows if row.size] or list(rows[:1])
    try:
        return np.concatenate(filled)
    except ValueError as error:
        raise InvalidValueError(
            f"The rows of {name!r} have different shapes or dtypes: {error}.",
            "Rows may only differ in the first dimension.",
        ) from error
