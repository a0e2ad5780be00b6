"""Encodes values as bytes and decodes them: plain, or packed in chunks (FORMAT.md, "Values")."""

from __future__ import annotations

import re
import struct
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa

from tensortap.core.dtypes import Array
from tensortap.core.errors import DamagedError
from tensortap.stats.compile import CannotCompileError, kernel

RAW = "raw"
CHUNK = 1 << 20  # raw bytes of one frame; a multiple of every item size
MAX_CHUNK = 16 << 20  # a reader refuses larger ones
_ITEMS = (1, 2, 4, 8)  # bytes of an item that `pack_nonzero` takes
_MAX_ZERO_SHARE = 31 / 32  # with more zeros, the bits alone would take more space than zstd
_MAX_RATIO = 1 << 15  # zstd: 128 KiB of one byte take 4 bytes
_CHUNKED = re.compile(r"(?:zstd|nonzero:([1248])):(\d{1,9})\Z")


def strings_to_bytes(texts: Array) -> bytes:
    """(size + 1) int64 offsets, then the bytes of all texts."""
    items = list(texts.flat)
    offsets = np.zeros(len(items) + 1, "<i8")
    np.cumsum([len(item) for item in items], out=offsets[1:])
    return offsets.tobytes() + b"".join(items)


def bytes_to_strings(data: bytes, size: int) -> Array:
    """The inverse of `strings_to_bytes`: an object array of `size` bytes objects.

    Raises:
        DamagedError: the offsets do not ascend from 0 to the end.
    """
    start = 8 * (size + 1)
    if len(data) < start:
        raise DamagedError("A string value is shorter than its offsets.")
    offsets = np.frombuffer(data, "<i8", size + 1)
    if offsets[0] != 0 or offsets[-1] != len(data) - start or (np.diff(offsets) < 0).any():
        raise DamagedError("The offsets of a string value do not ascend from 0 to its end.")
    texts = np.empty(size, object)
    for i, (begin, end) in enumerate(zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True)):
        texts[i] = data[start + begin : start + end]
    return texts


def pack(octets: Array, item: int, zeros: float) -> tuple[str, bytes]:
    """(codec, stored bytes) of raw bytes: u32 count, count u32 frame lengths, frames.

    Args:
        octets: the raw bytes, uint8.
        item: bytes of an element; of a part, if it is complex.
        zeros: the share of elements that are zero.
    """
    chunks: list[Any] = [octets[at : at + CHUNK] for at in range(0, octets.size, CHUNK)]
    if zeros < _MAX_ZERO_SHARE and item in _ITEMS:
        name = f"nonzero:{item}:{CHUNK}"
        frames: list[tuple[Any, ...]] = [pack_nonzero(chunk, item) for chunk in chunks]
    else:
        name, zstd = f"zstd:{CHUNK}", pa.Codec("zstd", 1)
        frames = [(zstd.compress(memoryview(chunk)),) for chunk in chunks]
    lengths = [sum(memoryview(part).nbytes for part in frame) for frame in frames]
    table = struct.pack(f"<{len(frames) + 1}I", len(frames), *lengths)
    return name, b"".join((table, *chain.from_iterable(frames)))


def chunk_size(codec: str) -> int:
    """N of `zstd:N` and `nonzero:I:N`, or 0 for raw bytes.

    Raises:
        DamagedError: another codec, or chunks too large to be trusted.
    """
    return 0 if codec == RAW else int(_parsed(codec)[2])


def _parsed(codec: str) -> re.Match[str]:
    match = _CHUNKED.match(codec)
    if match is None or not 0 < int(match[2]) <= MAX_CHUNK:
        raise DamagedError(f"The codec {codec[:40]!r} is unknown.", "Upgrade tensortap.")
    return match


def check_ratio(raw: int, stored: int) -> None:
    """Rejects a value that claims more bytes than its compressed form can hold, before they are allocated."""
    if raw > (stored + 64) * _MAX_RATIO:
        raise DamagedError(f"A value of {stored} stored bytes claims to have {raw}.")


def unpack(codec: str, frame: bytes | memoryview, size: int) -> memoryview:
    """One frame that must decode to `size` bytes.

    Raises:
        DamagedError: it does not.
    """
    item = _parsed(codec)[1]
    if item:
        return unpack_nonzero(frame, size, int(item))
    try:
        data = pa.Codec("zstd").decompress(frame, decompressed_size=size)
    except (OSError, ValueError) as error:
        raise DamagedError(f"A compressed value cannot be decoded: {error}") from error
    return memoryview(data)


def pack_nonzero(octets: Array, item: int) -> tuple[Array, Array]:
    """Packs a chunk that is mostly zero: one bit per item marks those that are not zero, followed by these
    items (FORMAT.md).

    Ten times as fast as zstd, and smaller on what training computes: ReLUs and their gradients, whose other
    elements nothing compresses. `octets` are a multiple of `item` bytes.
    """
    items = octets.view(f"u{item}")
    try:
        pack_items = kernel("pack_nonzero", f"uint{8 * item}")
    except CannotCompileError:
        some = items != 0
        return np.packbits(some, bitorder="little"), items[some]
    bitmap = np.empty(-(-items.size // 8), np.uint8)
    kept = np.empty(items.size + 1, items.dtype)
    count = pack_items(items, bitmap, kept)
    return bitmap, kept[:count]


def unpack_nonzero(frame: bytes | memoryview, size: int, item: int) -> memoryview:
    """The inverse of `pack_nonzero`: `size` raw bytes.

    Raises:
        DamagedError: the bits do not fit the bytes behind them, or `size`.
    """
    count = size // item
    bits = np.frombuffer(frame, np.uint8, min(len(frame), -(-count // 8)))
    some: Any = np.unpackbits(bits, bitorder="little").view(bool)
    if size % item or some.size < count or some[count:].any():
        raise DamagedError("The bits of a packed value do not fit its size.")
    items = np.zeros(count, f"<u{item}")
    stored = len(frame) - bits.size
    if stored != item * np.count_nonzero(some):
        raise DamagedError("A packed value is damaged: its item count does not match its bitmap.")
    items[some[:count]] = np.frombuffer(frame, items.dtype, stored // item, bits.size)
    octets: Any = items.view(np.uint8)
    return memoryview(octets)
