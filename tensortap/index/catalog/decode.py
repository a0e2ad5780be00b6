"""Arrow columns of commits -> typed arrays, strings and shapes as codes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from tensortap.core.dtypes import Array
from tensortap.core.records import COUNTS, STATISTICS
from tensortap.dump.format.schema import HISTOGRAM_COLUMNS

from .columns import StringTable, factorize_rows
from .ragged import Ragged, narrowed

STATISTICS_COLUMNS = ("size", *COUNTS, *STATISTICS)
INDEXED_COLUMNS = (
    *("graph", "node", "slot", "step", "visit", "time", "device", "dtype", "shape"),
    *(*STATISTICS_COLUMNS, "value_codec", "value_file"),
)
NOT_KEPT = -2  # as the number of a values file; smaller codes: values that are lost
REFUSED, LOST = NOT_KEPT - 1, NOT_KEPT - 2  # by a full disk; found by a repair (FORMAT.md, `value_file`)
NOT_COPIED = NOT_KEPT - 3  # only the compacted statistics of the run are here


class ShapeTable:
    """Interned shapes."""

    def __init__(self) -> None:
        self.values: list[tuple[int, ...]] = []
        self._codes: dict[tuple[int, ...], int] = {}

    def restore(self, shapes: Sequence[tuple[int, ...]]) -> Array:
        """Restore the shapes of another table; returns the code (int32) of each."""
        return np.array([self._intern(shape) for shape in shapes], np.int32)

    def encode(self, column: pa.ListArray) -> Array:
        """The codes (int32) of an Arrow column of int64 lists."""
        offsets = column.offsets.to_numpy().astype(np.int64)
        extents = column.values.to_numpy()
        ranks = np.diff(offsets)
        codes = np.zeros(len(column), np.int32)
        for rank in np.unique(ranks).tolist():
            rows = np.flatnonzero(ranks == rank)
            shapes = extents[offsets[rows][:, None] + np.arange(rank)]
            codes[rows] = self._encode_equal_rank(shapes) if rank else self._intern(())
        return codes

    def _encode_equal_rank(self, shapes: Array) -> Array:
        codes, first = factorize_rows(list(np.ascontiguousarray(shapes.T)))
        return np.array([self._intern(tuple(shape)) for shape in shapes[first].tolist()], np.int32)[codes]

    def _intern(self, shape: tuple[int, ...]) -> int:
        code = self._codes.setdefault(shape, len(self.values))
        if code == len(self.values):
            self.values.append(shape)
        return code


def numbers(table: pa.Table, name: str) -> Array:
    """A column of numbers; timestamps in their unit."""
    column = chunk(table, name)
    if pa.types.is_timestamp(column.type):
        column = column.cast(pa.int64())
    values: Array = column.to_numpy()
    return values


def chunk(table: pa.Table, name: str) -> pa.Array:
    """A column of any type as one Arrow array."""
    column = table.column(name)
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def filled(table: pa.Table, name: str) -> Array:
    """Which rows of a text column are not empty."""
    table_of_values = StringTable()
    codes = table_of_values.encode(chunk(table, name))
    found: Array = np.array([bool(value) for value in table_of_values.values], np.bool_)[codes]
    return found


def shard_numbers(kept: Array, file: Array) -> Array:
    """The numbers of the values files: -1 for values in rows, `NOT_KEPT` and below for rows without a
    value."""
    numbers: Array = np.where(kept, np.maximum(file, -1), NOT_KEPT + 1 + np.clip(file, -3, -1))
    return numbers


def decode_histograms(table: pa.Table) -> Ragged:
    """The histograms of decoded commits."""
    ids, counts = (chunk(table, name) for name in HISTOGRAM_COLUMNS)
    starts = ids.offsets.to_numpy().astype(np.int64)
    return Ragged(starts - starts[0], ids.flatten().to_numpy(), narrowed(counts.flatten().to_numpy()))
