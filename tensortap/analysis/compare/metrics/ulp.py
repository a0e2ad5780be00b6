"""Differences of two arrays element by element: exact for integers, in ULP for floats."""

from __future__ import annotations

import numpy as np

from tensortap.core.dtypes import Array, numpy_dtype

_COARSER = ("float64", "float32", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2")
_PARTS = {"complex64": "float32", "complex128": "float64"}


def common_dtype(a: str, b: str) -> str:
    """The coarser of two dtypes: that in which both can be compared. `complex64` counts as its parts."""
    a, b = _PARTS.get(a, a), _PARTS.get(b, b)
    if a in _COARSER and b in _COARSER:
        return max(a, b, key=_COARSER.index)
    return b if b in _COARSER or b.startswith("float8") else a


def ulp_distance(a: Array, b: Array, dtype: str) -> Array:
    """Number of representable values of `dtype` between the elements of two arrays of equal shape.

    Both are rounded to `dtype` first. +0 and -0 are the same number; the distance to a NaN is NaN, between
    two NaNs 0. Infinities follow the largest finite numbers. Of complex numbers, the larger one of the
    distances of their real and imaginary parts.

    Args:
        dtype: a floating point dtype; for others the distance is the plain difference.

    Returns:
        float64 of the same shape; exact up to 2^53.
    """
    if np.iscomplexobj(a) or np.iscomplexobj(b):
        return np.asarray(
            np.maximum(ulp_distance(a.real, b.real, dtype), ulp_distance(a.imag, b.imag, dtype))
        )
    target = numpy_dtype(dtype) if dtype in _COARSER or dtype.startswith("float8") else None
    if target is None or target.itemsize > 8:
        return np.abs(subtracted(a, b))
    with np.errstate(all="ignore"):
        left, right = a.astype(target), b.astype(target)
    distance = _distance(_rank(left), _rank(right), target.itemsize)
    nan_a, nan_b = np.isnan(a), np.isnan(b)
    if nan_a.any() or nan_b.any():
        distance[nan_a ^ nan_b] = np.nan
        distance[nan_a & nan_b] = 0
    return distance


def _rank(values: Array) -> Array:
    """int64 that grows by one from each representable number to the next; both zeros are 0."""
    size = values.dtype.itemsize
    rank = np.ascontiguousarray(values).view(f"i{size}").astype(np.int64)
    smallest = np.int64(-(1 << (8 * size - 1)))
    return np.subtract(smallest, rank, out=rank, where=rank < 0)


def _distance(a: Array, b: Array, size: int) -> Array:
    """|a - b| in float64: exact where it is below 2^53, without overflow of int64 (which only the ranks of
    numbers of 8 bytes could)."""
    if size < 8:
        return np.abs(np.subtract(a, b, out=a), out=a).astype(np.float64)
    with np.errstate(over="ignore"):
        near = np.abs(a - b).astype(np.float64)
    far = np.abs(a.astype(np.float64) - b.astype(np.float64))
    distance: Array = np.where(far < 2.0**62, near, far)
    return distance


def subtracted(a: Array, b: Array) -> Array:
    """a - b: complex128 if either is complex, else float64; of whole numbers less than 2^63 apart the exact
    difference, rounded once."""
    if a.dtype.kind == "c" or b.dtype.kind == "c":
        return np.asarray(a.astype(np.complex128) - b.astype(np.complex128))
    far = np.asarray(a.astype(np.float64) - b.astype(np.float64))
    if not (a.dtype.kind in "iub" and b.dtype.kind in "iub"):
        return far
    with np.errstate(over="ignore"):
        near = (a.astype(np.uint64) - b.astype(np.uint64)).astype(np.int64)  # modulo 2^64
    return np.where(np.abs(far) < 2.0**63, near.astype(np.float64), far)


def equal_elements(a: Array, b: Array) -> Array:
    """Which elements are equal; two NaN are."""
    if a.dtype.kind in "iub" and b.dtype.kind in "iub":
        return np.asarray(a == b)
    wide_a, wide_b = a.astype(np.float64), b.astype(np.float64)
    return np.asarray((wide_a == wide_b) | (np.isnan(wide_a) & np.isnan(wide_b)))


def worst_element(a: Array, b: Array) -> tuple[int, ...]:
    """Where two arrays of equal shape are farthest apart: first where only one of them is not finite, then
    by |a - b|; the first element where all are equal, empty of a scalar and of an empty array."""
    if not a.size:
        return ()
    with np.errstate(invalid="ignore"):
        apart = np.abs(subtracted(a, b))
    apart = np.where(np.isnan(apart), np.inf, apart)
    if "c" not in (a.dtype.kind, b.dtype.kind):
        apart = np.where(equal_elements(a, b), 0.0, apart)
    return tuple(int(at) for at in np.unravel_index(int(np.argmax(apart)), a.shape))
