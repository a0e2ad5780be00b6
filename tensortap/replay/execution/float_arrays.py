"""Float arrays: float dtypes, non-finite elements, and numbers that a mask inserted."""

from __future__ import annotations

import ml_dtypes
import numpy as np

from tensortap.core.dtypes import Array

MASK = 1e4  # -1e4 is what masks in float16 add, others -1e9 or the dtype's lowest
_GAP = 100  # how many times the other numbers at least
_NEARLY = 0.01


def is_float(array: Array) -> bool:
    """Whether its numbers can be NaN or infinite, or at least fractions; complex ones aside."""
    return str(array.dtype).startswith(("float", "bfloat"))


def mask_values(values: Array) -> Array:
    """Which elements a mask put there, bool: at least 1e4 and half of the largest, and 100 times others."""
    size = np.where(np.isfinite(values), np.abs(values), 0.0)
    large = size >= max(MASK, float(np.max(size, initial=0.0)) / 2)
    rest = float(np.max(size[~large], initial=0.0))
    apart = large.any() and not large.all() and float(np.min(size[large])) >= _GAP * rest
    return large if apart else np.zeros(values.shape, np.bool_)


def masked_in_both(tensor: Array, values: Array, most: float) -> Array:
    """The elements where a tensor has nearly the same large number as `values`, or at least 0.49 of `most`,
    the maximum of a dtype, in place of a larger one."""
    with np.errstate(invalid="ignore"):
        near = np.abs(tensor - values) <= _NEARLY * np.abs(values)
        lost = np.isfinite(tensor) & (np.abs(values) > most) & (tensor * np.sign(values) >= 0.49 * most)
    return np.asarray((mask_values(values) & near) | lost)


def largest_finite(*arrays: Array) -> float:
    """The largest number that all of their floating-point dtypes can represent."""
    dtypes = [array.dtype for array in arrays if array.dtype.kind not in "biuc"]
    return min((float(ml_dtypes.finfo(dtype).max) for dtype in dtypes), default=np.inf)  # type: ignore[no-untyped-call]
