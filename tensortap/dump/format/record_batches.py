"""Decodes untrusted record batches: checks sizes first, then Arrow's rules, then those of FORMAT.md."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import google_crc32c
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tensortap.core.errors import DamagedError
from tensortap.core.histogram import BUCKETS

from .flatbuffers import RECORD_BATCH, Message
from .frames import Frame
from .row_checks import MAX_RANK
from .schema import MAX_TIME, SCHEMA, SCHEMA_MESSAGE, SCHEMA_MESSAGE_1_0, SINCE_1_1

MAX_DECODED = 128 << 20  # bytes of one decoded statistics batch
MAX_ROWS = 1 << 20  # of one statistics batch
_INT64 = struct.Struct("<q")
_ARROW_ERRORS = (pa.ArrowException, OSError, ValueError, EOFError, TypeError, StopIteration, MemoryError)


@dataclass(frozen=True)
class Layout:
    """Layout of the batches of one file: the expected columns within the schema of its first message.

    Further columns are let through and not decoded, so that later versions may add some.

    Attributes:
        message: the encapsulated schema message.
        expected: name -> type, in output order.
        nullable: names of columns that may hold nulls.

    Raises:
        DamagedError: on first use, if the message cannot be read or a column is missing or of another type.
    """

    message: bytes
    expected: tuple[tuple[str, Any], ...]
    nullable: tuple[str, ...] = ()

    @cached_property
    def crc(self) -> int:
        """Checksum of the schema message; every commit repeats it."""
        found: int = google_crc32c.value(self.message)
        return found

    @cached_property
    def schema(self) -> pa.Schema:
        """The schema, checked."""
        schema = _read_schema(self.message)
        for name, kind in self.expected:
            at = schema.get_all_field_indices(name)
            if len(at) != 1 or schema.field(at[0]).type != kind:
                raise DamagedError(f"The column {name!r} is missing or is not {kind}.")
        return schema

    @cached_property
    def _required(self) -> frozenset[int]:
        """Numbers of the field nodes (a column and its children, in order) that must not have nulls."""
        required: list[int] = []
        node = 0
        names = {name for name, _ in self.expected} - set(self.nullable)
        for field in self.schema:
            count = _node_count(field.type)
            required += range(node, node + count) if field.name in names else ()
            node += count
        return frozenset(required)

    def decode(
        self,
        frame: Frame,
        columns: Sequence[str] | None = None,
        *,
        max_decoded: int = MAX_DECODED,
        max_rows: int = MAX_ROWS,
    ) -> pa.RecordBatch:
        """The record batch of a frame, fully validated; with `columns`, only those are decoded.

        Raises:
            DamagedError: as `check` and `decode_checked`.
        """
        self.check(frame, max_decoded, max_rows)
        return self.decode_checked([frame], columns)[0]

    def check(self, frame: Frame, max_decoded: int = MAX_DECODED, max_rows: int = MAX_ROWS) -> int:
        """Check a frame before Arrow reads it. Returns the bytes that all its columns decode to.

        Raises:
            DamagedError: it is not a batch of this layout, or would decode to more than `max_decoded` bytes.
        """
        message = frame.message
        if message is None or message.kind != RECORD_BATCH:
            raise DamagedError("A message is not a record batch.")
        if frame.schema_crc != self.crc:
            raise DamagedError("A record batch belongs to another schema.")
        if not 0 <= message.rows <= max_rows:
            raise DamagedError(f"A record batch claims {message.rows} rows.")
        if self._required.intersection([i for i, (_, nulls) in enumerate(message.nodes) if nulls]):
            raise DamagedError("A non-nullable column has nulls.")
        decoded = _decoded_size(frame, message)
        if decoded > max_decoded:
            raise DamagedError(f"A record batch would decode to {decoded} bytes; the limit is {max_decoded}.")
        return decoded

    def decode_checked(
        self, frames: Sequence[Frame], columns: Sequence[str] | None = None
    ) -> list[pa.RecordBatch]:
        """The record batches of frames that `check` accepted, fully validated.

        Many at a time, as Arrow takes longer to set up a stream than to decode a commit of 100 rows.

        Raises:
            DamagedError: one of them is invalid.
        """
        wanted = [name for name, _ in self.expected if columns is None or name in columns]
        fields = [i for i, name in enumerate(self.schema.names) if name in wanted]
        options = pa.ipc.IpcReadOptions(included_fields=fields, use_threads=False)
        data = pa.py_buffer(b"".join((self.message, *(frame.data for frame in frames))))
        try:
            with pa.ipc.open_stream(data, options=options) as stream:
                batches = [stream.read_next_batch() for _ in frames]
                in_order = stream.schema.names == wanted
            for batch in batches:
                batch.validate(full=True)
        except _ARROW_ERRORS as error:
            raise DamagedError(f"A record batch is invalid: {str(error)[:200]}") from error
        return batches if in_order else [batch.select(wanted) for batch in batches]


def _read_schema(message: bytes) -> pa.Schema:
    try:
        return pa.ipc.read_schema(pa.py_buffer(message))
    except _ARROW_ERRORS as error:
        raise DamagedError(f"The schema cannot be read: {str(error)[:200]}") from error


def _node_count(kind: Any) -> int:
    return 1 + sum(_node_count(kind.field(i).type) for i in range(kind.num_fields))


def _decoded_size(frame: Frame, message: Message) -> int:
    """Bytes of all columns, by the lengths before compressed buffers; every buffer is within the body."""
    body = len(frame.data) - message.body_length
    total = 0
    for offset, length in message.buffers:
        if offset < 0 or length < 0 or offset + length > message.body_length:
            raise DamagedError("A record batch refers to bytes beyond its end.")
        decoded = length
        if message.compressed and length:
            decoded = _INT64.unpack_from(frame.data, body + offset)[0] if length >= 8 else -2
            decoded = length - 8 if decoded == -1 else decoded
        if decoded < 0:
            raise DamagedError("A record batch claims a negative length.")
        total += decoded
    return total


def statistics_layout(message: bytes) -> Layout:
    """The layout of a statistics file that begins with this schema message.

    Raises:
        DamagedError: the message cannot be read.
    """
    has_blocks = bool(_read_schema(message).get_all_field_indices(SINCE_1_1))
    columns = [field for field in SCHEMA if has_blocks or field.name != SINCE_1_1]
    return Layout(message, tuple((field.name, field.type) for field in columns), ("value",))


_FROM_ZERO = ("seq", "slot", "step", "visit", "size")
STATISTICS = statistics_layout(SCHEMA_MESSAGE)
# By the schema's checksum: those of tensortap's own writers.
KNOWN_STATISTICS = {layout.crc: layout for layout in (STATISTICS, statistics_layout(SCHEMA_MESSAGE_1_0))}


def decode_statistics(
    frames: Sequence[Frame], layout: Layout, columns: Sequence[str] | None = None
) -> list[pa.RecordBatch]:
    """The rows of commits that `Layout.check` accepted: all columns of `SCHEMA`, or those in `columns`.

    Raises:
        DamagedError: one of them is invalid, or holds impossible numbers.
    """
    batches = layout.decode_checked(frames, columns)
    names = batches[0].schema.names
    check_statistics(pa.Table.from_batches(batches))
    if SINCE_1_1 not in names and (columns is None or SINCE_1_1 in columns):
        return [_with_no_blocks(batch) for batch in batches]
    return batches


def check_statistics(table: pa.Table) -> None:
    """Rejects impossible statistics in any of the columns of `SCHEMA`. Raises DamagedError."""
    names = table.schema.names
    for name in _FROM_ZERO:
        if name in names:
            _check_range(name, table.column(name))
    if "time" in names:
        _check_range("time", table.column("time").cast(pa.int64()), MAX_TIME)
    if "shape" in names:
        _check_range("shape", pc.list_flatten(table.column("shape")))
        _check_range("shape", pc.list_value_length(table.column("shape")), MAX_RANK)
    if "bucket_id" in names and "bucket_count" in names:
        _check_histograms(table.column("bucket_id"), table.column("bucket_count"))


def _with_no_blocks(batch: pa.RecordBatch) -> pa.RecordBatch:
    kind = SCHEMA.field(SINCE_1_1).type
    offsets = pa.array(np.zeros(batch.num_rows + 1, np.int32))
    return batch.append_column(
        SCHEMA.field(SINCE_1_1), pa.ListArray.from_arrays(offsets, pa.array([], kind.value_type))
    )


def _check_range(name: str, numbers: pa.ChunkedArray, limit: int = 2**63 - 1) -> None:
    found = pc.min_max(numbers).as_py()  # None without numbers
    if found["min"] is not None and not 0 <= found["min"] <= found["max"] <= limit:
        raise DamagedError(f"The column {name!r} has numbers out of range.")


def _check_histograms(ids: pa.ChunkedArray, counts: pa.ChunkedArray) -> None:
    if not pc.list_value_length(ids).equals(pc.list_value_length(counts)):
        raise DamagedError("A histogram has a different number of counts and buckets.")
    used = pc.list_flatten(ids).to_numpy()
    half = BUCKETS // 2
    if used.size and (int(used.max()) >= BUCKETS or int((used & (half - 1)).max()) == half - 1):
        raise DamagedError("A histogram has an invalid bucket.")
