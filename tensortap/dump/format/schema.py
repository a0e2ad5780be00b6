"""The columns of a statistics file, and record batches built from rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tensortap.core.records import INTEGERS, STATISTICS, Summary, SummaryTable

VERSION = 1
MINOR = 1  # 1: checksums by block, and of whole JSON files, GraphDefs and headers; every 1.x reads all of 1.x
MAX_TIME = 253_402_300_799_999_999  # microseconds: the end of the year 9999, where calendars end


def _schema(minor: int) -> pa.Schema:
    head = [("seq", pa.int64()), ("graph", pa.string()), ("node", pa.string()), ("slot", pa.int32())]
    head += [("step", pa.int64()), ("visit", pa.int32()), ("time", pa.timestamp("us", "UTC"))]
    head += [("device", pa.string()), ("dtype", pa.string()), ("shape", pa.list_(pa.int64()))]
    head += [(name, pa.int64()) for name in INTEGERS]
    head += [(name, pa.float64()) for name in STATISTICS]
    tail = [("bucket_id", pa.list_(pa.uint16())), ("bucket_count", pa.list_(pa.int64()))]
    tail += [("value", pa.large_binary()), ("value_file", pa.int32()), ("value_offset", pa.int64())]
    tail += [("value_length", pa.int64()), ("value_crc32c", pa.uint32()), ("value_codec", pa.string())]
    tail += [("value_blocks", pa.list_(pa.uint32()))] if minor else []
    fields = [pa.field(name, kind, nullable=name == "value") for name, kind in head + tail]
    metadata = {"format": "tensortap", "version": str(VERSION)} | ({"minor": str(minor)} if minor else {})
    return pa.schema(fields, metadata=metadata)


SCHEMA = _schema(MINOR)
SCHEMA_MESSAGE: bytes = SCHEMA.serialize().to_pybytes()
SCHEMA_MESSAGE_1_0: bytes = _schema(0).serialize().to_pybytes()
SINCE_1_1 = "value_blocks"  # the column that statistics of version 1.0 lack
HISTOGRAM_COLUMNS = ("bucket_id", "bucket_count")


class Stored(NamedTuple):
    """The location of a snapshot's value. The defaults mean that no value is stored."""

    inline: bytes | None = None
    file: int = -1
    offset: int = 0
    length: int = 0
    crc32c: int = 0
    codec: str = ""
    blocks: tuple[int, ...] = ()


NOT_KEPT = Stored()
REFUSED = Stored(file=-2)  # the disk refused to store it
LOST = Stored(file=-3)  # it was stored, and a repair found it missing or damaged


@dataclass(slots=True)
class Rows:
    """Snapshots on their way into a statistics file; their summaries come beside them.

    Columns, not one object per snapshot: Python's garbage collector would walk through the objects of the
    whole program once for every few thousand that are made here. `time` is in microseconds since 1970, UTC.
    """

    seq: list[int] = field(default_factory=list)
    graph: list[str] = field(default_factory=list)
    node: list[str] = field(default_factory=list)
    slot: list[int] = field(default_factory=list)
    step: list[int] = field(default_factory=list)
    visit: list[int] = field(default_factory=list)
    time: list[int] = field(default_factory=list)
    device: list[str] = field(default_factory=list)
    stored: list[Stored] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.seq)

    def extend(self, more: Rows) -> None:
        """Appends rows."""
        for column in fields(self):
            getattr(self, column.name).extend(getattr(more, column.name))


def build_batch(rows: Rows, summaries: Sequence[Summary]) -> pa.RecordBatch:
    """One record batch of `SCHEMA`.

    Columns are assembled from buffers: `pa.array(list)` infers types and costs 30 times more.
    """
    table = summaries if isinstance(summaries, SummaryTable) else SummaryTable.of(summaries)
    inline, file, offset, length, crc32c, codec, blocks = _stored_columns(rows.stored)
    columns = [
        _numbers(rows.seq, np.int64),
        _strings(rows.graph),
        _strings(rows.node),
        _numbers(rows.slot, np.int32),
        _numbers(rows.step, np.int64),
        _numbers(rows.visit, np.int32),
        _numbers(rows.time, np.int64).view(pa.timestamp("us", "UTC")),
        _strings(rows.device),
        _strings(table.dtypes),
        _lists(table.shapes, list(chain.from_iterable(table.shapes)), np.int64),
        *(_numbers(column, np.int64) for column in np.ascontiguousarray(table.integers.T)),
        *(_numbers(column, np.float64) for column in np.ascontiguousarray(table.statistics.T)),
        _histogram_column(table.bucket_ids, np.uint16),
        _histogram_column(table.bucket_counts, np.int64),
        _binaries(inline),
        _numbers(file, np.int32),
        _numbers(offset, np.int64),
        _numbers(length, np.int64),
        _numbers(crc32c, np.uint32),
        _strings(codec),
        _lists(blocks, list(chain.from_iterable(blocks)), np.uint32),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=SCHEMA)


def _stored_columns(stored: Sequence[Stored]) -> tuple[Sequence[Any], ...]:
    if not stored or all(place is NOT_KEPT for place in stored):
        return tuple([value] * len(stored) for value in NOT_KEPT)
    return tuple(zip(*stored, strict=True))


_ARROW = {np.int64: pa.int64(), np.int32: pa.int32(), np.float64: pa.float64()}
_ARROW |= {np.uint16: pa.uint16(), np.uint32: pa.uint32()}


def _numbers(values: Any, dtype: Any) -> pa.Array:
    array = np.asarray(values, dtype)
    return pa.Array.from_buffers(_ARROW[dtype], array.size, [None, pa.py_buffer(array)])


def _offsets(lengths: Iterable[int], count: int, dtype: Any) -> pa.Buffer:
    offsets = np.zeros(count + 1, dtype)
    np.cumsum(np.fromiter(lengths, dtype, count), out=offsets[1:])
    return pa.py_buffer(offsets)


def _strings(texts: Sequence[str]) -> pa.Array:
    encoded = [text.encode("utf-8", "backslashreplace") for text in texts]
    offsets = _offsets(map(len, encoded), len(encoded), np.int32)
    return pa.Array.from_buffers(pa.string(), len(encoded), [None, offsets, pa.py_buffer(b"".join(encoded))])


def _lists(lists: Sequence[Any], values: Any, dtype: Any) -> pa.Array:
    child = _numbers(values, dtype)
    offsets = _offsets(map(len, lists), len(lists), np.int32)
    return pa.Array.from_buffers(pa.list_(child.type), len(lists), [None, offsets], children=[child])


def _histogram_column(arrays: Sequence[npt.NDArray[Any]], dtype: Any) -> pa.Array:
    return _lists(arrays, np.concatenate(arrays) if arrays else (), dtype)


def _binaries(values: Sequence[bytes | None]) -> pa.Array:
    present = np.array([value is not None for value in values], bool)
    offsets = _offsets((len(value or b"") for value in values), len(values), np.int64)
    data = pa.py_buffer(b"".join(value or b"" for value in values))
    mask = pa.py_buffer(np.packbits(present, bitorder="little"))
    return pa.Array.from_buffers(pa.large_binary(), len(values), [mask, offsets, data])
