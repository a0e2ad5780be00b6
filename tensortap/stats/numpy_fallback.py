"""Statistics in plain NumPy, ten times slower: without numba, and for numbers whose squares need scaling."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from tensortap.core.dtypes import Array
from tensortap.core.histogram import BUCKETS, TOP, Histogram

from .moments import Measured

_COUNTS = ("nan", "pos_inf", "neg_inf", "zero", "negative", "positive", "subnormal", "finite")


def measure(chunks: Iterable[Array], tiny: float) -> Measured:
    """Measures real numbers that come in 1-d chunks.

    Args:
        chunks: arrays of any real dtype that NumPy converts to float64; temporaries are as large as they are.
        tiny: smallest normal magnitude of the dtype that was captured; 0 if it has no subnormals.
    """
    counts = dict.fromkeys(_COUNTS, 0)
    table = np.zeros(BUCKETS, np.int64)
    mean = m2 = 0.0
    low, high = math.inf, -math.inf
    for chunk in chunks:
        values = _finite(chunk, counts)
        if not values.size:
            continue
        numbers = values.astype(np.float64)
        _count_signs(numbers, tiny, counts)
        nonzero = _exact(values)
        table += np.bincount(bucket_ids(nonzero[nonzero != 0]), minlength=BUCKETS)
        before, after = counts["finite"], counts["finite"] + numbers.size
        with np.errstate(
            over="ignore", invalid="ignore"
        ):  # overflow is noticed, and the chunks measured again scaled
            delta = float(numbers.mean()) - mean
            m2 += (
                float(np.square(numbers - numbers.mean()).sum())
                + delta * delta * before * numbers.size / after
            )
        mean += delta * numbers.size / after
        low, high = min(low, float(numbers.min())), max(high, float(numbers.max()))
        counts["finite"] = after
    return Measured(Histogram.from_table(table), **counts, mean=mean, m2=m2, minimum=low, maximum=high)


def _finite(chunk: Array, counts: dict[str, int]) -> Array:
    """The finite elements; the others are counted."""
    if chunk.dtype.kind in "biu":
        return chunk
    with np.errstate(invalid="ignore"):  # signalling NaNs
        values = chunk.astype(np.float64, copy=False)
    finite = np.isfinite(values)
    if finite.all():
        return values
    counts["nan"] += int(np.isnan(values).sum())
    counts["pos_inf"] += int((values == np.inf).sum())
    counts["neg_inf"] += int((values == -np.inf).sum())
    return values[finite]


def _count_signs(numbers: npt.NDArray[np.float64], tiny: float, counts: dict[str, int]) -> None:
    magnitude = np.abs(numbers)
    counts["zero"] += int((numbers == 0).sum())
    counts["negative"] += int((numbers < 0).sum())
    counts["positive"] += int((numbers > 0).sum())
    counts["subnormal"] += int(((magnitude < tiny) & (magnitude > 0)).sum())


def _exact(values: Array) -> npt.NDArray[np.float64]:
    """Values as float64; 64-bit integers rounded toward zero, so that none moves up into the next bucket."""
    if values.dtype.kind not in "iu" or values.dtype.itemsize < 8:
        return values.astype(np.float64)
    negative = values < 0
    magnitude = np.where(negative, ~values, values).astype(np.uint64) + negative.astype(np.uint64)
    # Of 64 bits the lowest 11 do not fit into a float64; below 2^53 all fit.
    magnitude[magnitude >= 2**53] &= np.uint64(0xFFFF_FFFF_FFFF_F800)
    return np.where(negative, -magnitude.astype(np.float64), magnitude.astype(np.float64))


def bucket_ids(values: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    """Bucket ids of finite, non-zero float64 values."""
    # Exponent and first mantissa bit, rebased from float64's bias (1023) to float32's (127): 2 * 896 = 1792.
    key = ((values.view(np.uint64) >> np.uint64(51)) & np.uint64(0xFFF)).astype(np.int64) - 1792
    # [2^-127, 2^-126) is float32's largest subnormal bucket, id 1, at both values of the mantissa bit.
    ids = np.where(key < 0, 0, np.clip(key, 1, TOP))
    return np.where(values < 0, ids + BUCKETS // 2, ids)
