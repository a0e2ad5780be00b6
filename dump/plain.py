"""Statistics in plain NumPy: for dtypes without a kernel, and where numba cannot compile. Ten to thirty times slower."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from .dtypes import Array
from .histogram import BUCKETS, TOP
from .totals import Totals

_CHUNK = 1 << 16  # elements; bounds the temporaries to a few MB


def scan(flat: Array, totals: Totals, tiny: float) -> None:
    """Adds real numbers to `totals`.

    Args:
        flat: 1-d, of any real dtype that NumPy can convert to float64.
        tiny: smallest normal magnitude of the dtype that was captured; 0 if it has no subnormals.
    """
    for start in range(0, flat.size, _CHUNK):
        _scan_chunk(flat[start : start + _CHUNK], totals, tiny)


def _scan_chunk(chunk: Array, totals: Totals, tiny: float) -> None:
    values = chunk.astype(np.float64)
    finite = np.isfinite(values)
    if not finite.all():
        totals.nan += int(np.isnan(values).sum())
        totals.pos_inf += int((values == np.inf).sum())
        totals.neg_inf += int((values == -np.inf).sum())
        chunk, values = chunk[finite], values[finite]
    if not values.size:
        return
    magnitude = np.abs(values)
    totals.zero += int((values == 0).sum())
    totals.negative += int((values < 0).sum())
    totals.positive += int((values > 0).sum())
    totals.subnormal += int(((magnitude < tiny) & (magnitude > 0)).sum())
    exact = _truncated(chunk) if chunk.dtype.kind in "iu" and chunk.dtype.itemsize == 8 else values
    totals.table += np.bincount(bucket_ids(exact[exact != 0]), minlength=BUCKETS)
    with np.errstate(over="ignore", invalid="ignore"):  # sums that overflow are repaired by the caller
        mean = float(values.mean())
        totals.add_block(values.size, mean, float(np.square(values - mean).sum()), values.min(), values.max())


def _truncated(chunk: Array) -> npt.NDArray[np.float64]:
    """64-bit integers as float64 rounded toward zero, so that none is rounded up into the next bucket."""
    negative = chunk < 0
    magnitude = np.where(negative, ~chunk, chunk).astype(np.uint64) + negative.astype(np.uint64)
    # Of 64 bits the lowest 11 do not fit into a float64; below 2^53 all fit.
    magnitude[magnitude >= 2**53] &= np.uint64(0xFFFF_FFFF_FFFF_F800)
    return np.where(negative, -magnitude.astype(np.float64), magnitude.astype(np.float64))


def bucket_ids(values: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    """Bucket ids of finite, non-zero float64 values."""
    bits = values.view(np.uint64)
    # Exponent and first mantissa bit, rebased from float64's bias (1023) to float32's (127): 2 * 896 = 1792.
    key = ((bits >> np.uint64(51)) & np.uint64(0xFFF)).astype(np.int64) - 1792
    # [2^-127, 2^-126) is float32's largest subnormal bucket, id 1, at both values of the mantissa bit.
    ids = np.where(key < 0, 0, np.clip(key, 1, TOP))
    return np.where(values < 0, ids + 512, ids)
