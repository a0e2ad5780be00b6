"""The columns of a statistics file, and the record batch made of rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from operator import attrgetter
from typing import Any

import google_crc32c
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from .records import COUNTS, STATISTICS, Summary

VERSION = 1
INTEGERS = ("size", *COUNTS)
MAX_TIME = 253_402_300_799_999_999  # microseconds: the end of the year 9999, where calendars end


def _schema() -> pa.Schema:
    head = [("seq", pa.int64()), ("graph", pa.string()), ("node", pa.string()), ("slot", pa.int32())]
    head += [("step", pa.int64()), ("visit", pa.int32()), ("time", pa.timestamp("us", "UTC"))]
    head += [("device", pa.string()), ("dtype", pa.string()), ("shape", pa.list_(pa.int64()))]
    head += [(name, pa.int64()) for name in INTEGERS]
    head += [(name, pa.float64()) for name in STATISTICS]
    tail = [("bucket_id", pa.list_(pa.uint16())), ("bucket_count", pa.list_(pa.int64()))]
    tail += [("value", pa.large_binary()), ("value_file", pa.int32()), ("value_offset", pa.int64())]
    tail += [("value_length", pa.int64()), ("value_crc32c", pa.uint32()), ("value_codec", pa.string())]
    fields = [pa.field(name, kind, nullable=name == "value") for name, kind in head + tail]
    return pa.schema(fields, metadata={"format": "tensortap", "version": str(VERSION)})


SCHEMA = _schema()
SCHEMA_MESSAGE: bytes = SCHEMA.serialize().to_pybytes()
SCHEMA_CRC: int = google_crc32c.value(SCHEMA_MESSAGE)


@dataclass(frozen=True, slots=True)
class Stored:
    """Where a snapshot's value is. The defaults say that it was not kept."""

    inline: bytes | None = None
    file: int = -1
    offset: int = 0
    length: int = 0
    crc32c: int = 0
    codec: str = ""


NOT_KEPT = Stored()


@dataclass(slots=True)
class Row:
    """One snapshot on its way into a statistics file. `time` is in microseconds since 1970, UTC."""

    seq: int
    graph: str
    node: str
    slot: int
    step: int
    visit: int
    time: int
    device: str
    summary: Summary
    stored: Stored


_INTEGERS_OF = attrgetter(*INTEGERS)
_STATISTICS_OF = attrgetter(*STATISTICS)


def build_batch(rows: Sequence[Row]) -> pa.RecordBatch:
    """One record batch of `SCHEMA`.

    Columns are assembled from buffers: `pa.array(list)` infers types and costs 30 times more.
    """
    summaries = [row.summary for row in rows]
    stored = [row.stored for row in rows]
    histograms = [summary.histogram for summary in summaries]
    shapes = [summary.shape for summary in summaries]
    columns = [
        _numbers([row.seq for row in rows], np.int64),
        _strings([row.graph for row in rows]),
        _strings([row.node for row in rows]),
        _numbers([row.slot for row in rows], np.int32),
        _numbers([row.step for row in rows], np.int64),
        _numbers([row.visit for row in rows], np.int32),
        _numbers([row.time for row in rows], np.int64).view(pa.timestamp("us", "UTC")),
        _strings([row.device for row in rows]),
        _strings([summary.dtype for summary in summaries]),
        _lists(shapes, list(chain.from_iterable(shapes)), np.int64),
        *_table([_INTEGERS_OF(summary) for summary in summaries], len(INTEGERS), np.int64),
        *_table([_STATISTICS_OF(summary) for summary in summaries], len(STATISTICS), np.float64),
        _histogram_column([histogram.bucket_id for histogram in histograms], np.uint16),
        _histogram_column([histogram.bucket_count for histogram in histograms], np.int64),
        _binaries([place.inline for place in stored]),
        _numbers([place.file for place in stored], np.int32),
        _numbers([place.offset for place in stored], np.int64),
        _numbers([place.length for place in stored], np.int64),
        _numbers([place.crc32c for place in stored], np.uint32),
        _strings([place.codec for place in stored]),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=SCHEMA)


_ARROW = {np.int64: pa.int64(), np.int32: pa.int32(), np.float64: pa.float64()}
_ARROW |= {np.uint16: pa.uint16(), np.uint32: pa.uint32()}


def _numbers(values: Any, dtype: Any) -> pa.Array:
    array = np.asarray(values, dtype)
    return pa.Array.from_buffers(_ARROW[dtype], array.size, [None, pa.py_buffer(array)])


def _table(rows: Sequence[Sequence[Any]], width: int, dtype: Any) -> list[pa.Array]:
    """`width` columns of numbers at once."""
    columns = np.array(rows, dtype).reshape(len(rows), width).T
    return [_numbers(column, dtype) for column in np.ascontiguousarray(columns)]


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
