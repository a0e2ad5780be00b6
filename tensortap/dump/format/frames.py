"""Frames: the encapsulated Arrow messages of a stream, each with a checksum inside (FORMAT.md, "Statistics").

`encode` writes one, `read_frame` reads one back, `Resync` finds the next one behind damage.
"""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import google_crc32c
import pyarrow as pa

from tensortap.core.errors import DamagedError
from tensortap.storage.files import FileReader

from .flatbuffers import Message, parse_message

EOS = b"\xff\xff\xff\xff\x00\x00\x00\x00"
MAX_METADATA = 1 << 20  # of a record batch; one of version 1 has about 3 KB
MAX_BODY = 128 << 20  # bytes of a statistics batch as stored

_COMMIT = re.compile(rb"crc32c=([0-9a-f]{8});schema=([0-9a-f]{8})")
# A continuation mark and a metadata length that is a multiple of 8 below MAX_METADATA.
_START = re.compile(
    rb"\xff\xff\xff\xff(?=[\x00\x08\x10\x18\x20\x28\x30\x38\x40\x48\x50\x58\x60\x68\x70\x78"
    rb"\x80\x88\x90\x98\xa0\xa8\xb0\xb8\xc0\xc8\xd0\xd8\xe0\xe8\xf0\xf8].[\x00-\x0f]\x00)",
    re.DOTALL,
)
_SEARCH = 4 << 20
_FARTHEST = 2 * MAX_BODY  # bytes: of the longest frame, and more than a file of statistics has


@dataclass(frozen=True, slots=True)
class Frame:
    """A frame with a valid checksum. `schema_crc` is the checksum of its schema message."""

    kind: Literal["batch", "eos"]
    offset: int
    data: bytes
    message: Message | None = None
    schema_crc: int = 0

    @property
    def end(self) -> int:
        return self.offset + len(self.data)


def encode(
    batch: pa.RecordBatch, schema_message: bytes, status: dict[str, Any], compression: str | None
) -> bytes:
    """The checksummed message of a record batch with this schema message."""
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression=compression, use_threads=False)
    schema_crc = google_crc32c.value(schema_message)
    custom = {"commit": f"crc32c=00000000;schema={schema_crc:08x}", "status": json.dumps(status)}
    with pa.ipc.new_stream(sink, batch.schema, options=options) as writer:
        writer.write_batch(batch, custom_metadata=custom)
        end = sink.tell()
    data = bytearray(memoryview(sink.getvalue())[len(schema_message) : end])
    crc_at, _ = _find_commit(data)
    data[crc_at : crc_at + 8] = b"%08x" % google_crc32c.value(bytes(data))
    return bytes(data)


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


def read_frame(file: FileReader, offset: int, max_body: int = MAX_BODY) -> Frame:
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
        raise TruncatedError("A message is truncated.")
    message = parse_message(start[8:])
    if not 0 <= message.body_length <= max_body or message.body_length % 8:
        raise DamagedError("A message claims an impossible length.")
    crc_at, schema_crc = _find_commit(start)
    if offset + len(start) + message.body_length > file.size:
        raise TruncatedError("A message is truncated.")
    data = file.read_exactly(offset, len(start) + message.body_length)
    patched = bytearray(data)
    patched[crc_at : crc_at + 8] = b"00000000"
    if b"%08x" % google_crc32c.value(bytes(patched)) != data[crc_at : crc_at + 8]:
        raise WrongChecksumError("A message does not match its checksum.", length=len(data))
    return Frame("batch", offset, data, message, schema_crc)


class WrongChecksumError(DamagedError):
    """A complete but damaged frame; `length` is its claimed length in bytes."""

    def __init__(self, message: str, length: int) -> None:
        super().__init__(message)
        self.length = length


class TruncatedError(DamagedError):
    """The file ends in what looks like the beginning of a frame."""


def _metadata_length(head: bytes) -> int:
    if len(head) < 8 and EOS.startswith(head[:4]):
        raise TruncatedError("A message is truncated.")
    mark, length = struct.unpack("<II", head.ljust(8, b"\0"))
    if mark != 0xFFFFFFFF or length % 8 or not 0 < length <= MAX_METADATA:
        raise DamagedError("Bytes that are not a message.")
    found: int = length
    return found


def read_schema_message(file: FileReader, limit: int = MAX_METADATA) -> bytes:
    """The bytes of the schema message a file begins with; not checked but for its length.

    Raises:
        DamagedError: it is truncated or is invalid.
    """
    head = file.read(0, 8)
    if len(head) < 8:
        raise DamagedError("The schema is truncated.")
    mark, length = struct.unpack("<II", head)
    if mark != 0xFFFFFFFF or length % 8 or not 0 < length <= limit:
        raise DamagedError("The file does not start with a schema.")
    return file.read_exactly(0, 8 + length)


class Resync:
    """Searches one file for frames after damage.

    Stops when it has checked eight times the file's size: a file made of overlapping false frames must not
    keep a reader busy. (True frames do not overlap, so one search checks no byte of them twice.)
    """

    def __init__(self) -> None:
        self._spent = 0

    def after(self, file: FileReader, offset: int) -> Frame | None:
        """The first valid commit that starts after `offset`. (An EOS proves nothing: it has no checksum.)"""
        for start in _starts(file, offset + 1):
            try:
                frame = read_frame(file, start)
            except DamagedError as error:
                self._spent += error.length if isinstance(error, WrongChecksumError) else 256
                if self._spent > 8 * file.size + MAX_METADATA:
                    return None
            else:
                if frame.kind == "batch":
                    return frame
        return None


def _starts(file: FileReader, offset: int) -> Iterator[int]:
    """Offsets that a frame may start at, up to `_FARTHEST`: a file with holes can have any length."""
    end = min(file.size, offset + _FARTHEST)
    while offset < end:
        window = file.read(offset, _SEARCH)
        for match in _START.finditer(window):
            yield offset + match.start()
        if len(window) < _SEARCH:
            return
        offset += len(window) - 7  # a start may cross the edge
