"""The columns of a statistics file: rows -> record batch, and the checks a record batch must pass before it is believed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import google_crc32c
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from .errors import DamagedError
from .histogram import BUCKETS
from .records import COUNTS, STATISTICS, Summary

VERSION = 1
_INTEGERS = ("size", *COUNTS)


def _schema() -> pa.Schema:
    def column(name: str, kind: Any) -> pa.Field:
        return pa.field(name, kind, nullable=name == "value")

    head = [("seq", pa.int64()), ("graph", pa.string()), ("node", pa.string()), ("slot", pa.int32())]
    head += [("step", pa.int64()), ("visit", pa.int32()), ("time", pa.timestamp("us", "UTC"))]
    head += [("device", pa.string()), ("dtype", pa.string()), ("shape", pa.list_(pa.int64()))]
    head += [(name, pa.int64()) for name in _INTEGERS]
    head += [(name, pa.float64()) for name in STATISTICS]
    tail = [("bucket_id", pa.list_(pa.uint16())), ("bucket_count", pa.list_(pa.int64()))]
    tail += [("value", pa.large_binary()), ("value_file", pa.int32()), ("value_offset", pa.int64())]
    tail += [("value_length", pa.int64()), ("value_crc32c", pa.uint32()), ("value_codec", pa.string())]
    fields = [column(name, kind) for name, kind in head + tail]
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


@dataclass(frozen=True, slots=True)
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


def build_batch(rows: Sequence[Row]) -> pa.RecordBatch:
    """One record batch of `SCHEMA`.

    Columns are assembled from buffers: `pa.array(list)` infers types and costs 30 times more.
    """
    summaries = [row.summary for row in rows]
    stored = [row.stored for row in rows]
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
        _lists(
            [len(s.shape) for s in summaries], list(chain.from_iterable(s.shape for s in summaries)), np.int64
        ),
        *(_numbers([getattr(summary, name) for summary in summaries], np.int64) for name in _INTEGERS),
        *(_numbers([getattr(summary, name) for summary in summaries], np.float64) for name in STATISTICS),
        _histogram_column([summary.histogram.bucket_id for summary in summaries], np.uint16),
        _histogram_column([summary.histogram.bucket_count for summary in summaries], np.int64),
        _binaries([place.inline for place in stored]),
        _numbers([place.file for place in stored], np.int32),
        _numbers([place.offset for place in stored], np.int64),
        _numbers([place.length for place in stored], np.int64),
        _numbers([place.crc32c for place in stored], np.uint32),
        _strings([place.codec for place in stored]),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=SCHEMA)


def _numbers(values: Any, dtype: Any) -> pa.Array:
    array = np.ascontiguousarray(values, dtype)
    return pa.Array.from_buffers(pa.from_numpy_dtype(array.dtype), len(array), [None, pa.py_buffer(array)])


def _offsets(lengths: Iterable[int], count: int, dtype: Any) -> pa.Buffer:
    offsets = np.zeros(count + 1, dtype)
    np.cumsum(np.fromiter(lengths, dtype, count), out=offsets[1:])
    return pa.py_buffer(offsets)


def _strings(texts: Sequence[str]) -> pa.Array:
    encoded = [text.encode("utf-8", "backslashreplace") for text in texts]
    offsets = _offsets(map(len, encoded), len(encoded), np.int32)
    return pa.Array.from_buffers(pa.string(), len(encoded), [None, offsets, pa.py_buffer(b"".join(encoded))])


def _lists(lengths: Sequence[int], values: Any, dtype: Any) -> pa.Array:
    child = _numbers(values, dtype)
    offsets = _offsets(lengths, len(lengths), np.int32)
    return pa.Array.from_buffers(pa.list_(child.type), len(lengths), [None, offsets], children=[child])


def _histogram_column(arrays: Sequence[npt.NDArray[Any]], dtype: Any) -> pa.Array:
    return _lists([len(array) for array in arrays], np.concatenate(arrays), dtype)


def _binaries(values: Sequence[bytes | None]) -> pa.Array:
    present = np.array([value is not None for value in values])
    offsets = _offsets((len(value or b"") for value in values), len(values), np.int64)
    data = pa.py_buffer(b"".join(value or b"" for value in values))
    mask = pa.py_buffer(np.packbits(present, bitorder="little"))
    return pa.Array.from_buffers(pa.large_binary(), len(values), [mask, offsets, data])


def check_schema(schema: pa.Schema) -> None:
    """Refuses a schema that lacks a column of version 1 or gives it another type. Further columns are let through.

    Raises:
        DamagedError: naming the first column that is wrong.
    """
    for field in SCHEMA:
        at = schema.get_all_field_indices(field.name)
        if len(at) != 1 or schema.field(at[0]).type != field.type:
            raise DamagedError(f"The column {field.name!r} is missing or is not {field.type}.")


def check_rows(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Returns a batch of which Arrow's full validation and the rules of FORMAT.md hold, in the order of `SCHEMA`.

    Raises:
        DamagedError: it breaks one.
    """
    try:
        batch.validate(full=True)
    except (pa.ArrowInvalid, pa.ArrowException) as error:
        raise DamagedError(f"The record batch is invalid: {str(error)[:200]}") from error
    names = [name for name in SCHEMA.names if name in batch.schema.names]
    batch = batch.select(names)
    for name, column in zip(names, batch.columns, strict=True):
        nested = pa.types.is_list(column.type) and column.values.null_count
        if name != "value" and (column.null_count or nested):
            raise DamagedError(f"The column {name!r} holds nulls.")
    for name in ("seq", "slot", "step", "visit", *_INTEGERS):
        if name in names and batch.num_rows and int(_plain(batch.column(name)).min()) < 0:
            raise DamagedError(f"The column {name!r} holds negative numbers.")
    if "bucket_id" in names and "bucket_count" in names:
        _check_histograms(batch)
    return batch


def _check_histograms(batch: pa.RecordBatch) -> None:
    ids, counts = batch.column("bucket_id"), batch.column("bucket_count")
    if not np.array_equal(_plain(ids.value_lengths()), _plain(counts.value_lengths())):
        raise DamagedError("A histogram has not as many counts as buckets.")
    used = ids.flatten().to_numpy()
    if used.size and int((used & (BUCKETS // 2 - 1)).max()) == BUCKETS // 2 - 1 or (used >= BUCKETS).any():
        raise DamagedError("A histogram holds a bucket that no finite value falls into.")


def _plain(column: pa.Array) -> npt.NDArray[Any]:
    found: npt.NDArray[Any] = column.to_numpy()
    return found
