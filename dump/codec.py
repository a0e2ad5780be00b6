"""How a value becomes stored bytes, and back: plain, or zstd in chunks (FORMAT.md, "Values")."""

from __future__ import annotations

import re
import struct

import numpy as np
import pyarrow as pa

from .dtypes import Array
from .errors import DamagedError

RAW = "raw"
CHUNK = 1 << 20  # raw bytes of one zstd frame; a multiple of every item size
MAX_CHUNK = 16 << 20  # a reader refuses larger ones
_MAX_RATIO = 1 << 15  # zstd: 128 KiB of one byte take 4 bytes
_ZSTD = re.compile(r"zstd:(\d{1,9})\Z")


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
        raise DamagedError("The offsets of a string value do not ascend to its end.")
    texts = np.empty(size, object)
    for i, (begin, end) in enumerate(zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True)):
        texts[i] = data[start + begin : start + end]
    return texts


def compress(data: memoryview) -> bytes:
    """The `zstd:CHUNK` form of raw bytes: u32 count, count u32 frame lengths, frames."""
    codec = pa.Codec("zstd", 1)
    frames = [codec.compress(data[at : at + CHUNK], asbytes=True) for at in range(0, len(data), CHUNK)]
    return struct.pack(f"<{len(frames) + 1}I", len(frames), *map(len, frames)) + b"".join(frames)


def chunk_size(codec: str) -> int:
    """N of `zstd:N`, or 0 for raw bytes.

    Raises:
        DamagedError: another codec, or chunks too large to be trusted.
    """
    if codec == RAW:
        return 0
    match = _ZSTD.match(codec)
    if match is None or not 0 < int(match[1]) <= MAX_CHUNK:
        raise DamagedError(f"The codec {codec[:40]!r} is not known.", "Upgrade tensortap.")
    return int(match[1])


def check_ratio(raw: int, stored: int) -> None:
    """Refuses a value that claims more bytes than its compressed form can hold, before they are allocated."""
    if raw > (stored + 64) * _MAX_RATIO:
        raise DamagedError(f"A value of {stored} stored bytes claims to hold {raw}.")


def decompress(frame: bytes, size: int) -> memoryview:
    """One zstd frame that must decode to `size` bytes.

    Raises:
        DamagedError: it does not.
    """
    try:
        data = pa.Codec("zstd").decompress(frame, decompressed_size=size)
    except (OSError, ValueError) as error:
        raise DamagedError(f"A compressed value cannot be decoded: {error}") from error
    return memoryview(data)
