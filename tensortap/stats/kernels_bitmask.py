"""Packs arrays that are mostly zero, compiled by numba."""

from __future__ import annotations

from typing import Any

import numpy as np

_ONE = np.uint64(1)


def pack_nonzero(items: Any, bitmap: Any, kept: Any) -> int:
    """Copies the items that are not zero, and sets a bit for each, without a branch.

    Args:
        items: unsigned integers.
        bitmap: uint8[ceil(items / 8)] that receives the bits, the lowest first.
        kept: as `items`, with room for one more; receives the items that are not zero.

    Returns:
        How many there are.
    """
    found = np.uint64(0)
    for byte in range(np.uint64(bitmap.size)):
        start = np.uint64(8) * byte
        bits = np.uint64(0)
        for bit in range(min(np.uint64(8), np.uint64(items.size) - start)):
            item = items[start + bit]
            some = np.uint64(item != 0)
            kept[found] = item
            found += some
            bits |= some << bit
        bitmap[byte] = bits
    return int(found)
