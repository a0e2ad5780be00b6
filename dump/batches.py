"""Decodes record batches that nothing is known of: sizes first, then Arrow, then the rules of FORMAT.md."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import google_crc32c
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from .errors import DamagedError
from .flat import RECORD_BATCH, Message
from .frames import Frame
from .histogram import BUCKETS
from .schema import MAX_TIME, SCHEMA, SCHEMA_MESSAGE

MAX_DECODED = 128 << 20  # bytes of one decoded statistics batch
MAX_ROWS = 1 << 20  # of one statistics batch
_ARROW_ERRORS = (pa.ArrowException, OSError, ValueError, EOFError, TypeError, StopIteration, MemoryError)


@dataclass(frozen=True)
class Layout:
    """What the batches of one file look like: the expected columns within the schema its first message gives.

    Further columns are let through and not decoded, so that later versions may add some.

    Attributes:
        message: the encapsulated schema message.
        expected: name -> type, in the order they are handed on.
        nullable: names of columns that may hold nulls.

    Raises:
        DamagedError: on first use, if the message cannot be read or a column is missing or of another type.
    """

    message: bytes
    expected: tuple[tuple[str, Any], ...]
    nullable: tuple[str, ...] = ()

    @cached_property
    def crc(self) -> int:
        """Checksum of the schema message, which commits repeat."""
        found: int = google_crc32c.value(self.message)
        return found

    @cached_property
    def schema(self) -> pa.Schema:
        """The schema, checked."""
        try:
            schema = pa.ipc.read_schema(pa.py_buffer(self.message))
        except _ARROW_ERRORS as error:
            raise DamagedError(f"The schema cannot be read: {str(error)[:200]}") from error
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
            DamagedError: it is not a valid batch of this layout, or would decode to more than `max_decoded`
            bytes.
        """
        message = frame.message
        if message is None or message.kind != RECORD_BATCH:
            raise DamagedError("A message is not a record batch.")
        if frame.schema_crc != self.crc:
            raise DamagedError("A record batch belongs to another schema.")
        schema = self.schema
        _check_sizes(frame, message, max_decoded, max_rows)
        if any(nulls and number in self._required for number, (_, nulls) in enumerate(message.nodes)):
            raise DamagedError("A column that may not hold nulls does.")
        wanted = [name for name, _ in self.expected if columns is None or name in columns]
        fields = [i for i, name in enumerate(schema.names) if name in wanted]
        options = pa.ipc.IpcReadOptions(included_fields=fields, use_threads=False)
        try:
            with pa.ipc.open_stream(pa.py_buffer(self.message + frame.data), options=options) as stream:
                batch = stream.read_next_batch()
            batch.validate(full=True)
        except _ARROW_ERRORS as error:
            raise DamagedError(f"A record batch is invalid: {str(error)[:200]}") from error
        return batch if batch.schema.names == wanted else batch.select(wanted)


def _node_count(kind: Any) -> int:
    return 1 + sum(_node_count(kind.field(i).type) for i in range(kind.num_fields))


def _check_sizes(frame: Frame, message: Message, max_decoded: int, max_rows: int) -> None:
    """Every buffer within the body; the decoded lengths in front of compressed ones within the limit."""
    if not 0 <= message.rows <= max_rows:
        raise DamagedError(f"A record batch claims {message.rows} rows.")
    body = len(frame.data) - message.body_length
    total = 0
    for offset, length in message.buffers:
        if offset < 0 or length < 0 or offset + length > message.body_length:
            raise DamagedError("A record batch claims bytes outside of itself.")
        decoded = length
        if message.compressed and length:
            decoded = struct.unpack_from("<q", frame.data, body + offset)[0] if length >= 8 else -2
            decoded = length - 8 if decoded == -1 else decoded
        if decoded < 0:
            raise DamagedError("A record batch claims a negative length.")
        total += decoded
    if total > max_decoded:
        raise DamagedError(f"A record batch would decode to {total} bytes; the limit is {max_decoded}.")


def statistics_layout(message: bytes) -> Layout:
    """The layout of a statistics file that begins with this schema message."""
    return Layout(message, tuple((field.name, field.type) for field in SCHEMA), ("value",))


_FROM_ZERO = ("seq", "slot", "step", "visit", "size")
STATISTICS_V1 = statistics_layout(SCHEMA_MESSAGE)


def decode_statistics(frame: Frame, layout: Layout, columns: Sequence[str] | None = None) -> pa.RecordBatch:
    """The rows of a commit. Raises DamagedError as `Layout.decode`, and for impossible numbers."""
    batch = layout.decode(frame, columns)
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        if name in _FROM_ZERO and batch.num_rows:
            _check_range(name, _plain(column))
        elif name == "time" and batch.num_rows:
            _check_range(name, _plain(column.view(pa.int64())), MAX_TIME)
        elif name == "shape" and len(column.values):
            _check_range(name, _plain(column.values))
    if columns is None or ("bucket_id" in columns and "bucket_count" in columns):
        _check_histograms(batch)
    return batch


def _check_range(name: str, numbers: npt.NDArray[Any], limit: int = 2**63 - 1) -> None:
    if int(numbers.min()) < 0 or int(numbers.max()) > limit:
        raise DamagedError(f"The column {name!r} holds numbers out of range.")


def _check_histograms(batch: pa.RecordBatch) -> None:
    ids, counts = batch.column("bucket_id"), batch.column("bucket_count")
    if not np.array_equal(_plain(ids.value_lengths()), _plain(counts.value_lengths())):
        raise DamagedError("A histogram has not as many counts as buckets.")
    used = _plain(ids.flatten())
    half = BUCKETS // 2
    if used.size and (int(used.max()) >= BUCKETS or int((used & (half - 1)).max()) == half - 1):
        raise DamagedError("A histogram holds a bucket that no finite value falls into.")


def _plain(column: pa.Array) -> npt.NDArray[Any]:
    found: npt.NDArray[Any] = column.to_numpy()
    return found
