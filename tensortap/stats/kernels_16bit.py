"""Counts the patterns of numbers of 8 and 16 bits, compiled by numba: their statistics follow from that.

Several tables, filled in turn, as in `kernels`; their strides keep them from sharing addresses modulo 4 KiB.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .numba_options import helper

_BYTE_STRIDE, _SHORT_STRIDE = 288, 65568
_MANY = 1 << 30  # words after which counters of 32 bits are emptied


@helper
def _gather(tables: Any, stride: int, counts: Any) -> None:
    """Moves the counts of several tables, `stride` apart, into one."""
    for table in range(tables.size // stride):
        for code in range(counts.size):
            counts[code] += np.int64(tables[stride * table + code])
            tables[stride * table + code] = 0


def count_bytes(codes: Any, counts: Any) -> None:
    """Adds up how often each uint8 occurs; `counts` is int64[256]."""
    tables = np.zeros(8 * _BYTE_STRIDE, np.uint32)
    words = codes[: codes.size & ~7].view(np.uint64)
    for start in range(0, words.size, _MANY):
        part = words[start : start + _MANY]
        for i in range(np.uint64(0), np.uint64(part.size)):
            word = part[i]
            for table in range(8):
                code = (word >> np.uint64(8 * table)) & np.uint64(0xFF)
                tables[np.uint64(_BYTE_STRIDE * table) + code] += np.uint32(1)
        _gather(tables, _BYTE_STRIDE, counts)
    for i in range(8 * words.size, codes.size):
        counts[codes[i]] += 1


def count_shorts(codes: Any, counts: Any) -> None:
    """Adds up how often each uint16 occurs; `counts` is int64[65536]."""
    tables = np.zeros(4 * _SHORT_STRIDE, np.uint32)
    words = codes[: codes.size & ~3].view(np.uint64)
    for start in range(0, words.size, _MANY):
        part = words[start : start + _MANY]
        for i in range(np.uint64(0), np.uint64(part.size)):
            word = part[i]
            for table in range(4):
                code = (word >> np.uint64(16 * table)) & np.uint64(0xFFFF)
                tables[np.uint64(_SHORT_STRIDE * table) + code] += np.uint32(1)
        _gather(tables, _SHORT_STRIDE, counts)
    for i in range(4 * words.size, codes.size):
        counts[codes[i]] += 1
