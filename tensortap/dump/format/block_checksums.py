"""Checksums of a stored value: of all its bytes, and of each block, to verify a part of it (FORMAT.md)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import google_crc32c
import numpy as np

BLOCK = 32 << 10  # bytes; to read some of them, a whole block is read and verified: some 10 us


def value_checksums(data: Any) -> tuple[int, tuple[int, ...]]:
    """(CRC-32C of all bytes, CRC-32C of each block) of a buffer; no block checksums if it fits in one block.

    Reads the bytes once: the checksum of the whole is put together from those of the blocks.
    """
    octets: Any = np.frombuffer(data, np.uint8)
    if octets.size <= BLOCK:
        return google_crc32c.value(octets), ()
    last = (octets.size - 1) // BLOCK * BLOCK
    blocks = [google_crc32c.value(octets[at : at + BLOCK]) for at in range(0, last, BLOCK)]
    rest = octets[last:]
    return google_crc32c.extend(_joined(blocks), rest), (*blocks, google_crc32c.value(rest))


def _joined(blocks: Sequence[int]) -> int:
    """The checksum of consecutive whole blocks, computed from theirs: 0.2 us per block."""
    t0, t1, t2, t3 = _shift_tables()
    joined = 0
    for block in blocks:
        joined = t0[joined & 255] ^ t1[joined >> 8 & 255] ^ t2[joined >> 16 & 255] ^ t3[joined >> 24] ^ block
    return joined


@cache
def _shift_tables() -> tuple[tuple[int, ...], ...]:
    """By byte of a checksum: its contribution after `BLOCK` zero bytes, which is linear in its bits."""
    zeros = bytes(BLOCK)
    constant = google_crc32c.extend(0, zeros)
    shifted = [google_crc32c.extend(1 << bit, zeros) ^ constant for bit in range(32)]
    tables = []
    for byte in range(4):
        table = [0]
        for bit in range(8):
            table += [entry ^ shifted[8 * byte + bit] for entry in table]
        tables.append(tuple(table))
    return tuple(tables)


def block_count(length: int) -> int:
    """Number of blocks with checksums in a value of `length` stored bytes."""
    return -(-length // BLOCK) if length > BLOCK else 0


def first_wrong_block(data: Any, first: int, blocks: Sequence[int]) -> int | None:
    """The first block with a wrong checksum, or None.

    Args:
        data: whole blocks of a value, from block `first` on; the value's last one may be shorter.
        blocks: the checksums of all blocks of the value.
    """
    octets: Any = np.frombuffer(data, np.uint8)
    count, rest = divmod(octets.size, BLOCK)
    if not rest and google_crc32c.value(octets) == _joined(blocks[first : first + count]):
        return None
    for number, at in enumerate(range(0, octets.size, BLOCK), first):
        if google_crc32c.value(octets[at : at + BLOCK]) != blocks[number]:
            return number
    return None
