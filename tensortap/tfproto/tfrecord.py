"""TFRecord files: length, its masked CRC-32C, the record, its masked CRC-32C."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from typing import BinaryIO

import google_crc32c

from .proto_classes import MAX_MESSAGE

_HEAD, _TAIL = struct.Struct("<QI"), struct.Struct("<I")
_LENGTH = struct.Struct("<Q")


def masked_crc32c(data: bytes) -> int:
    """The checksum of TFRecords and of LevelDB's tables: CRC-32C, rotated and shifted."""
    crc = int(google_crc32c.value(data))
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def frame_record(record: bytes) -> bytes:
    """A record as stored in a file."""
    length = _LENGTH.pack(len(record))
    return length + _TAIL.pack(masked_crc32c(length)) + record + _TAIL.pack(masked_crc32c(record))


def read_records(file: BinaryIO, size: int, name: str, note: Callable[[str], None]) -> Iterator[bytes]:
    """The records of a file of `size` bytes, up to a truncated one or a damaged length. Damaged content is
    skipped. `note` is called with a sentence about each of these."""
    at = count = 0
    while at < size:
        head = file.read(_HEAD.size)
        length, checksum = _HEAD.unpack(head) if len(head) == _HEAD.size else (0, None)
        if checksum is None:
            note(f"{name} ends in a truncated record: {count:,} complete records were read.")
            return
        if masked_crc32c(head[: _LENGTH.size]) != checksum or length > MAX_MESSAGE:
            note(f"{name} is damaged after record {count:,}: the rest cannot be read.")
            return
        if at + _HEAD.size + length + _TAIL.size > size:
            note(f"{name} ends in a truncated record: {count:,} complete records were read.")
            return
        data, tail = file.read(length), file.read(_TAIL.size)
        at += _HEAD.size + length + _TAIL.size
        count += 1
        if len(tail) != _TAIL.size or masked_crc32c(data) != _TAIL.unpack(tail)[0]:
            note(f"{name}: record {count:,} is damaged and was skipped.")
            continue
        yield data
