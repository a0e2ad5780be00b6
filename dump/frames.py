"""Frames: the encapsulated Arrow messages of a stream, each with a checksum inside (FORMAT.md, "Statistics").

`encode` writes one, `read_frame` and `decode` read one back, `resync` finds the next one behind damage.
"""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import google_crc32c
import pyarrow as pa

from .errors import DamagedError
from .files import Input
from .flat import RECORD_BATCH, Message, parse_message
from .schema import check_rows, check_schema

EOS = b"\xff\xff\xff\xff\x00\x00\x00\x00"
MAX_METADATA = 1 << 20  # of a record batch; one of version 1 has about 3 KB
MAX_SCHEMA = 1 << 30  # of a schema message: a graph's carries source texts
MAX_DECODED = 256 << 20  # bytes of one decoded statistics batch
MAX_ROWS = 1 << 20  # of one statistics batch

_COMMIT = re.compile(rb"crc32c=([0-9a-f]{8});schema=([0-9a-f]{8})")
# A continuation mark and a metadata length that is a multiple of 8 below MAX_METADATA.
_START = re.compile(
    rb"\xff\xff\xff\xff(?=[\x00\x08\x10\x18\x20\x28\x30\x38\x40\x48\x50\x58\x60\x68\x70\x78"
    rb"\x80\x88\x90\x98\xa0\xa8\xb0\xb8\xc0\xc8\xd0\xd8\xe0\xe8\xf0\xf8].[\x00-\x0f]\x00)",
    re.DOTALL,
)
_SEARCH = 4 << 20


@dataclass(frozen=True, slots=True)
class Frame:
    """A frame whose checksum matches. `schema_crc` is that of the schema message it was written under."""

    kind: Literal["batch", "eos"]
    offset: int
    data: bytes
    message: Message | None = None
    schema_crc: int = 0

    @property
    def end(self) -> int:
        return self.offset + len(self.data)


def encode(batch: pa.RecordBatch, schema_crc: int, status: dict[str, Any], compression: str | None) -> bytes:
    """The checksummed message of a record batch."""
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression=compression, use_threads=False)
    writer = pa.ipc.new_stream(sink, batch.schema, options=options)
    custom = {"commit": f"crc32c=00000000;schema={schema_crc:08x}", "status": json.dumps(status)}
    writer.write_batch(batch, custom_metadata=custom)
    data = bytearray(memoryview(sink.getvalue())[len(_schema_message(batch.schema)) :])
    crc_at, _ = _find_commit(data)
    data[crc_at : crc_at + 8] = b"%08x" % google_crc32c.value(bytes(data))
    return bytes(data)


def _schema_message(schema: pa.Schema) -> bytes:
    found: bytes = schema.serialize().to_pybytes()
    return found


def _find_commit(data: bytes | bytearray) -> tuple[int, int]:
    """(position of the checksum's digits, the schema's checksum) of a message.

    Raises:
        DamagedError: its metadata does not hold the `commit` text exactly once.
    """
    metadata = bytes(data[: 8 + struct.unpack_from("<i", data, 4)[0]])
    found = list(_COMMIT.finditer(metadata))
    if len(found) != 1:
        raise DamagedError("A message has no checksum.")
    return found[0].start(1), int(found[0].group(2), 16)


def read_frame(file: Input, offset: int, max_body: int = MAX_DECODED) -> Frame:
    """Reads the frame at `offset` and checks it.

    Raises:
        DamagedError: no whole frame starts there, or its checksum does not match.
    """
    head = file.read(offset, 8)
    if head == EOS:
        return Frame("eos", offset, head)
    length = _metadata_length(head)
    start = file.read(offset, 8 + length)
    if len(start) < 8 + length:
        raise DamagedError("A message is cut short.")
    message = parse_message(start[8:])
    if not 0 <= message.body_length <= max_body or message.body_length % 8:
        raise DamagedError("A message claims an impossible length.")
    crc_at, schema_crc = _find_commit(start)
    if offset + len(start) + message.body_length > file.size:
        raise DamagedError("A message is cut short.")
    data = file.read_exactly(offset, len(start) + message.body_length)
    patched = bytearray(data)
    patched[crc_at : crc_at + 8] = b"00000000"
    if b"%08x" % google_crc32c.value(bytes(patched)) != data[crc_at : crc_at + 8]:
        raise DamagedError("A message does not match its checksum.")
    return Frame("batch", offset, data, message, schema_crc)


def _metadata_length(head: bytes) -> int:
    if len(head) < 8:
        raise DamagedError("A message is cut short.")
    mark, length = struct.unpack("<II", head)
    if mark != 0xFFFFFFFF or length % 8 or not 0 < length <= MAX_METADATA:
        raise DamagedError("Something that is not a message.")
    found: int = length
    return found


def read_schema_message(file: Input) -> bytes:
    """The bytes of the schema message a file begins with; not checked but for its length.

    Raises:
        DamagedError: it is cut short or makes no sense.
    """
    head = file.read(0, 8)
    if len(head) < 8:
        raise DamagedError("The schema is cut short.")
    mark, length = struct.unpack("<II", head)
    if mark != 0xFFFFFFFF or length % 8 or not 0 < length <= MAX_SCHEMA:
        raise DamagedError("The file does not begin with a schema.")
    return file.read_exactly(0, 8 + length)


def parse_schema(message: bytes) -> pa.Schema:
    """The schema in a schema message.

    Raises:
        DamagedError: Arrow cannot read it, or it lacks columns of version 1.
    """
    try:
        schema = pa.ipc.read_schema(pa.py_buffer(message))
    except (pa.ArrowException, OSError, ValueError, EOFError, TypeError) as error:
        raise DamagedError(f"The schema cannot be read: {str(error)[:200]}") from error
    return schema


def resync(file: Input, offset: int) -> Frame | None:
    """The first whole, valid frame that starts behind `offset`; an EOS counts at the end of the file only.

    Gives up after reading eight times the file, so that a file made of false starts cannot keep a reader busy.
    """
    budget = 8 * file.size + (1 << 20)
    for start in _starts(file, offset + 1):
        try:
            frame = read_frame(file, start)
        except DamagedError:
            budget -= 1 << 12
        else:
            if frame.kind == "batch" or frame.end == file.size:
                return frame
        if budget < 0:
            return None
    return None


def _starts(file: Input, offset: int) -> Iterator[int]:
    """Offsets that a frame may start at."""
    while offset < file.size:
        window = file.read(offset, _SEARCH)
        for match in _START.finditer(window):
            yield offset + match.start()
        if len(window) < _SEARCH:
            return
        offset += len(window) - 7  # a start may lie across the edge


def decode(frame: Frame, schema_message: bytes, columns: Sequence[str] | None = None) -> pa.RecordBatch:
    """The record batch of a statistics frame, checked; with `columns`, only those are decoded.

    Raises:
        DamagedError: it is not a valid batch of version 1, or would decode to more than `MAX_DECODED`.
    """
    schema = parse_schema(schema_message)
    check_schema(schema)
    return check_rows(decode_batch(frame, schema_message, schema, columns, MAX_DECODED, MAX_ROWS))


def decode_batch(
    frame: Frame,
    schema_message: bytes,
    schema: pa.Schema,
    columns: Sequence[str] | None,
    max_decoded: int,
    max_rows: int,
) -> pa.RecordBatch:
    """The record batch of any frame, decoded within limits but not validated."""
    message = frame.message
    if message is None or message.kind != RECORD_BATCH:
        raise DamagedError("A message is not a record batch.")
    _check_sizes(frame, message, max_decoded, max_rows)
    try:
        if columns is None:
            return pa.ipc.read_record_batch(pa.ipc.read_message(pa.py_buffer(frame.data)), schema)
        wanted = [i for i, name in enumerate(schema.names) if name in columns]
        options = pa.ipc.IpcReadOptions(included_fields=wanted, use_threads=False)
        with pa.ipc.open_stream(pa.py_buffer(schema_message + frame.data), options=options) as stream:
            return stream.read_next_batch()
    except (pa.ArrowException, OSError, ValueError, EOFError, TypeError, StopIteration, MemoryError) as error:
        raise DamagedError(f"A record batch cannot be decoded: {str(error)[:200]}") from error


def _check_sizes(frame: Frame, message: Message, max_decoded: int, max_rows: int) -> None:
    """Every buffer within the body; the decoded lengths written in front of compressed ones within the limit."""
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
        raise DamagedError(
            f"A record batch would decode to {total} bytes, more than the limit of {max_decoded}."
        )
