"""Sorted string tables of LevelDB, as TensorFlow writes them: the `.index` of a checkpoint.

Format: https://github.com/google/leveldb/blob/main/doc/table_format.md, with TensorFlow's magic number.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

from tensortap.tfproto.tfrecord import masked_crc32c

from ..errors import RefusedError
from .protos import read_varint

MAGIC = struct.pack("<Q", 0xDB4775248B80FB57)
MAX_KEY = 65_536  # bytes; keys are built from prefixes, so a short file could spell a long one out often
MAX_ENTRIES = 10_000_000
_FOOTER = 48
_TRAILER = 5  # compression, checksum


def entries(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    """(key, value) in the order of the table.

    Raises:
        RefusedError: it is not such a table, is compressed or damaged.
    """
    if len(data) < _FOOTER or data[-8:] != MAGIC:
        raise RefusedError("It is not the index of a checkpoint, or it is truncated.")
    footer = data[-_FOOTER:]
    at = 0
    for _ in range(2):  # the handle of the meta index, which is empty
        _, at = read_varint(footer, at)
    index, _ = _handle(footer, at)
    last, count = -1, 0
    for _, place in _block(data, index):
        block, _ = _handle(place, 0)
        if block[0] <= last:
            raise RefusedError("The blocks of the index are out of order.")
        last = block[0]
        for entry in _block(data, block):
            count += 1
            if count > MAX_ENTRIES:
                raise RefusedError(f"The index has more than {MAX_ENTRIES:,} entries.")
            yield entry


def _handle(data: bytes, at: int) -> tuple[tuple[int, int], int]:
    offset, at = read_varint(data, at)
    size, at = read_varint(data, at)
    return (offset, size), at


def _block(data: bytes, place: tuple[int, int]) -> Iterator[tuple[bytes, bytes]]:
    offset, size = place
    end = offset + size
    if end + _TRAILER > len(data):
        raise RefusedError("The index is damaged: a block is out of bounds.")
    if data[end]:
        raise RefusedError("The index is compressed, which TensorFlow never does.")
    (checksum,) = struct.unpack_from("<I", data, end + 1)
    if masked_crc32c(data[offset : end + 1]) != checksum:
        raise RefusedError("The index is damaged: the checksum of a block is wrong.")
    yield from _entries(data[offset:end])


def _entries(block: bytes) -> Iterator[tuple[bytes, bytes]]:
    if len(block) < 4:
        raise RefusedError("The index is damaged: a block is too short.")
    (restarts,) = struct.unpack_from("<I", block, len(block) - 4)
    end = len(block) - 4 - 4 * restarts
    at, key = 0, b""
    while at < end:
        shared, at = read_varint(block, at)
        fresh, at = read_varint(block, at)
        length, at = read_varint(block, at)
        if shared > len(key) or shared + fresh > MAX_KEY or at + fresh + length > end:
            raise RefusedError("The index is damaged: an entry is outside its block.")
        key = key[:shared] + block[at : at + fresh]
        at += fresh
        yield key, block[at : at + length]
        at += length
