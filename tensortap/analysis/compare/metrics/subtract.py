"""A - B element by element, so that whole numbers beyond 2^53 do not become equal on the way."""

from __future__ import annotations

import numpy as np

from tensortap.core.dtypes import Array


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
