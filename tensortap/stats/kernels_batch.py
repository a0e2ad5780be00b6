"""Measures many small arrays in one numba call, because a call takes longer than a small array.

They lie one behind the other as float64, which holds the numbers of their dtypes exactly. Buckets are counted
one by one: emptying the tables of `kernels` would take longer.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .kernels import NEG_ZERO, POS_ZERO, SUBNORMAL, block64, finish, first_finite, helper, range64
from .moments import SMALL

_finish = helper(finish)


def scan_small(
    values: Any,
    bits: Any,
    ends: Any,
    tiny_id: int,
    acc: Any,
    ids: Any,
    counts: Any,
    used: Any,
    results: Any,
) -> None:
    """Measures consecutive parts of `values`, each of at most `SMALL` elements.

    Args:
        values: float64 elements of all arrays.
        bits: the same as int64.
        ends: where each array ends.
        tiny_id: as for `finish`.
        acc: an empty accumulator, which is left empty.
        ids, counts: uint16 and int64 that receive the non-empty buckets of all arrays, one behind the other;
            no array has more of them than elements, but room for a whole histogram must be left at the end.
        used: int64 that receives the number of buckets of each array.
        results: int64[arrays, 12]; each row as the `result` of `finish`.
    """
    buckets = np.empty(SMALL, np.uint16)
    start, at = 0, 0
    for k in range(ends.size):
        part, part_bits = values[start : ends[k]], bits[start : ends[k]]
        start = ends[k]
        if part.size:
            zeros, negative_zeros, subnormals, low, high = range64(part_bits, buckets)
            acc[POS_ZERO] += zeros
            acc[NEG_ZERO] += negative_zeros
            acc[SUBNORMAL] += subnormals
            for i in range(part.size):
                acc[buckets[i]] += 1
            block64(part, acc, low, high, first_finite(part))
        used[k] = _finish(acc, tiny_id, ids[at:], counts[at:], results[k])
        at += used[k]
