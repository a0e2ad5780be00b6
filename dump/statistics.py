"""The summary of an array: exact counts, statistics over the finite elements and histogram, in one pass."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cache
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

from . import plain
from .compiled import CannotCompileError, kernel, scratch
from .dtypes import STRING, Array, normalize, numpy_dtype
from .measured import Measured
from .records import Summary

_CHUNK = 1 << 16  # elements converted at a time
# Below this an array of 16 bits is cheaper to convert to float32 than to count over its 65,536 codes.
_FEW_SHORTS = 1 << 15
_HUGE, _MINUTE = 1e150, 1e-145  # beyond these, squares leave float64's range
_WIDE = ("int32", "int64", "uint32", "uint64")


def summarize(array: Any) -> Summary:
    """Measures an array of any supported dtype and shape.

    Sums are float64. The mean and the sum of squared deviations `m2` are formed in blocks of 2,048, about the mean of
    the block before, and combined by Chan's formula; `std = sqrt(m2 / n)`, `l2 = sqrt(m2 + n * mean²)`. Nothing
    cancels in them: a mean of 1e8 with noise of 1e-3 keeps its standard deviation. Where squares would overflow or
    vanish (magnitudes beyond 1e150, or below 1e-145), a second pass over scaled numbers is made. Complex numbers are
    measured by their modulus. Sums of 64-bit integers are of the nearest float64; their counts and buckets are exact.

    Raises:
        InvalidValueError: the array has a dtype that cannot be dumped.
    """
    values, dtype = normalize(array)
    return summarize_normal(values, dtype)


def summarize_normal(values: Array, dtype: str) -> Summary:
    """`summarize` of what `normalize` returned."""
    if dtype == STRING or not values.size:
        return _summary(dtype, values, Measured())
    flat = values.reshape(-1)
    try:
        found = _measure(flat, dtype)
    except CannotCompileError:
        found = plain.measure(_real_chunks(flat), smallest_normal(dtype))
    return _summary(dtype, values, found)


def warm_up(*dtypes: str) -> None:
    """Compiles the kernels of these dtypes (`float32` if none is named), which the first use would wait for."""
    for dtype in dtypes or ("float32",):
        summarize(np.ones(1, numpy_dtype(dtype)))


def _measure(flat: Array, dtype: str) -> Measured:
    """One pass with compiled kernels."""
    memory = scratch()
    acc = memory.acc
    if dtype in ("float32", "float64"):
        kernel("scan_" + dtype)(flat, acc)
    elif dtype in _WIDE:
        kernel("scan_integer", dtype)(flat, acc)
    elif is_complex(dtype):
        scan = kernel("scan_float64")
        for chunk in _real_chunks(flat):
            scan(chunk, acc)
    elif flat.itemsize == 2 and flat.size < _FEW_SHORTS:
        kernel("scan_float32")(flat.astype(np.float32), acc)
    else:
        _count_codes(flat, dtype, acc)
    return memory.finish(_tiny_id(dtype))


def _count_codes(flat: Array, dtype: str, acc: npt.NDArray[np.int64]) -> None:
    """Counts how often each pattern of 8 or 16 bits occurs; all else follows from that."""
    values, ids = _code_table(dtype)
    counts = np.zeros(values.size, np.int64)
    if flat.itemsize == 1:
        kernel("count_bytes")(flat.view(np.uint8), counts)
    else:
        kernel("count_shorts")(flat.view(np.uint16), counts)
    kernel("add_codes")(counts, values, ids, acc)


@cache
def _code_table(dtype: str) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.uint16]]:
    """(value, bucket id) of every bit pattern of a dtype of 8 or 16 bits."""
    numbers = numpy_dtype(dtype)
    codes = np.arange(1 << 8 * numbers.itemsize, dtype=f"u{numbers.itemsize}")
    values = np.minimum(codes, 1).astype(np.float64) if dtype == "bool" else codes.view(numbers).astype(np.float64)
    ids = np.zeros(values.size, np.uint16)
    counted = np.isfinite(values) & (values != 0)
    ids[counted] = plain.bucket_ids(values[counted])
    return values, ids


def _real_chunks(flat: Array) -> Iterator[Array]:
    """An array in pieces; complex numbers as float64 moduli."""
    for start in range(0, flat.size, _CHUNK):
        chunk = flat[start : start + _CHUNK]
        yield modulus(chunk) if is_complex(chunk.dtype.name) else chunk


def is_complex(dtype: str) -> bool:
    """Whether numbers of a logical dtype have two parts."""
    return "complex" in dtype


def modulus(numbers: Array) -> npt.NDArray[np.float64]:
    """float64 moduli: NaN if either part is NaN, else infinite if either is; the largest float64 if it would overflow."""
    wide = numbers.astype(np.complex128)
    real, imag = wide.real, wide.imag
    with np.errstate(over="ignore", invalid="ignore"):
        found = np.hypot(real, imag)
    if not np.isfinite(found).all():
        found[np.isfinite(real) & np.isfinite(imag) & np.isinf(found)] = np.finfo(np.float64).max
        found[np.isnan(real) | np.isnan(imag)] = np.nan
    return found


@cache
def smallest_normal(dtype: str) -> float:
    """The smallest normal magnitude of a dtype (of a part, if it is complex); 0 for integers and bool."""
    if dtype == "bool" or dtype.lstrip("u").startswith("int"):
        return 0.0
    part = {"complex64": "float32", "complex128": "float64", "complex32": "float16", "bcomplex32": "bfloat16"}
    return float(ml_dtypes.finfo(part.get(dtype) or numpy_dtype(dtype)).smallest_normal)


@cache
def _tiny_id(dtype: str) -> int:
    """Bucket id of the smallest normal number; -1 for float64's, which lies within bucket 0."""
    tiny = smallest_normal(dtype)
    if tiny == 0:
        return 0
    exponent = math.frexp(tiny)[1] - 1
    return 2 * (exponent + 127) if exponent >= -127 else -1


def _summary(dtype: str, values: Array, found: Measured) -> Summary:
    mean = std = l2 = low = high = abs_max = math.nan
    if found.finite:
        low, high, abs_max = found.minimum, found.maximum, found.abs_max
        ordinary = _MINUTE < abs_max < _HUGE or abs_max == 0
        mean, std, l2 = (found.mean, found.std, found.l2) if ordinary else _scaled(values.reshape(-1), abs_max)
    return Summary(
        dtype,
        values.shape,
        values.size,
        found.nan,
        found.pos_inf,
        found.neg_inf,
        found.zero,
        found.negative,
        found.positive,
        found.subnormal,
        low,
        high,
        mean,
        std,
        l2,
        abs_max,
        found.histogram,
    )


def _scaled(flat: Array, abs_max: float) -> tuple[float, float, float]:
    """(mean, std, l2) of numbers whose squares leave float64's range; infinite where the result itself does."""
    exponent = math.frexp(abs_max)[1]

    def scaled() -> Iterator[Array]:
        for chunk in _real_chunks(flat):
            yield np.ldexp(chunk.astype(np.float64), -exponent)

    found = plain.measure(scaled(), 0.0)
    with np.errstate(over="ignore"):
        mean, std, l2 = np.ldexp([found.mean, found.std, found.l2], exponent).tolist()
    return mean, std, l2
