"""The summary of an array: exact counts, statistics over the finite elements and histogram, in one pass.

`measure_in_numpy` takes the place of the compiled kernels without numba (ten times slower), and measures
numbers whose squares need scaling.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from tensortap.core.dtypes import STRING, Array, float_limits, normalize, numpy_dtype
from tensortap.core.histogram import BUCKETS, TOP, Histogram
from tensortap.core.records import Summary

from .compile import CannotCompileError, kernel, scratch
from .moments import Measured

_CHUNK = 1 << 16  # elements converted at a time
# Below this number of elements, by item size, converting to float32 is cheaper than counting over all codes.
_MIN_ELEMENTS_TO_COUNT = {1: 512, 2: 1 << 15}
_DIRECT = 256  # elements of float32 that are counted one by one: emptying the tables would take longer
_PARTS = {"complex64": "float32", "complex128": "float64"}
HUGE, MINUTE = 1e140, 1e-145  # beyond these, sums of squares leave float64's range
_WIDE = ("int32", "int64", "uint32", "uint64")


def summarize(array: Any) -> Summary:
    """Measures an array of any supported dtype and shape.

    Sums are float64. The mean and the sum of squared deviations `m2` are formed in blocks of 2,048, about the
    mean of the block before, and combined by Chan's formula; `std = sqrt(m2 / n)`, `l2 = sqrt(m2 + n *
    mean²)`. Nothing cancels in them: a mean of 1e8 with noise of 1e-3 keeps its standard deviation. Where
    squares would overflow or vanish (magnitudes beyond 1e140, or below 1e-145), a second pass over scaled
    numbers is made. Complex numbers are measured by their modulus, computed in float64. Sums of 64-bit
    integers are of the nearest float64; their counts and buckets are exact.

    Raises:
        InvalidValueError: the array has a dtype that cannot be dumped.
    """
    values, dtype = normalize(array)
    return summarize_normal(values, dtype)


def summarize_normal(values: Array, dtype: str) -> Summary:
    """`summarize` for the output of `normalize`."""
    if dtype == STRING or not values.size:
        return _summary(dtype, values, Measured())
    return _summary(dtype, values, measure(values.reshape(-1), dtype))


def measure(flat: Array, dtype: str) -> Measured:
    """One pass over the elements of a 1-d array that is not empty."""
    try:
        memory = scratch()
        scan(flat, dtype, memory.acc)
    except CannotCompileError:
        return measure_in_numpy(_real_chunks(flat), smallest_normal(dtype))
    return memory.finish(tiny_id(dtype))


def warm_up(*dtypes: str) -> None:
    """Compiles the kernels of these dtypes (default: float32) and the one for small arrays, so that first
    uses are fast."""
    for dtype in dtypes or ("float32",):
        summarize(np.ones(1, numpy_dtype(dtype)))
    with contextlib.suppress(CannotCompileError):
        kernel("scan_small")


def scan(flat: Array, dtype: str, acc: npt.NDArray[np.int64]) -> None:
    """Adds the elements of a 1-d array to an accumulator.

    Raises:
        CannotCompileError: nothing was added.
    """
    if dtype == "float32":
        _scan_float32(flat, acc)
    elif dtype == "float64":
        kernel("scan_float64")(flat, acc)
    elif dtype in _WIDE:
        kernel("scan_integer", dtype)(flat, acc)
    elif dtype in _PARTS:
        kernel("scan_complex", _PARTS[dtype])(flat.view(_PARTS[dtype]), acc)
    elif is_complex(dtype):
        kernel("scan_complex", "float64")(_quietly(flat, np.complex128).view(np.float64), acc)
    elif flat.size < _MIN_ELEMENTS_TO_COUNT[flat.itemsize]:
        _scan_float32(_quietly(flat, np.float32), acc)
    else:
        _count_codes(flat, dtype, acc)


def _scan_float32(flat: Array, acc: npt.NDArray[np.int64]) -> None:
    whole = flat.size & ~7 if flat.size > _DIRECT else 0
    kernel("scan_float32")(flat, flat.view(np.int32), flat[:whole].view(np.uint64), acc)


def _count_codes(flat: Array, dtype: str, acc: npt.NDArray[np.int64]) -> None:
    """Counts how often each pattern of 8 or 16 bits occurs; all else follows from that."""
    values, ids = _code_table(dtype)
    counts = np.zeros(values.size, np.int64)
    if dtype == "bool":
        counts[1] = np.count_nonzero(flat)
        counts[0] = flat.size - counts[1]
    elif flat.itemsize == 1:
        kernel("count_bytes")(flat.view(np.uint8), counts)
    else:
        kernel("count_shorts")(flat.view(np.uint16), counts)
    kernel("add_codes")(counts, values, ids, acc)


@cache
def _code_table(dtype: str) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.uint16]]:
    """(value, bucket id) of every bit pattern of a dtype of 8 or 16 bits."""
    numbers = numpy_dtype(dtype)
    codes = np.arange(1 << 8 * numbers.itemsize, dtype=f"u{numbers.itemsize}")
    values = _quietly(codes.view(numbers), np.float64) if dtype != "bool" else (codes != 0).astype(np.float64)
    ids = np.zeros(values.size, np.uint16)
    counted = np.isfinite(values) & (values != 0)
    ids[counted] = bucket_ids(values[counted])
    return values, ids


def _quietly(numbers: Array, dtype: npt.DTypeLike) -> Array:
    """`astype` without the warning that signalling NaNs would cause."""
    with np.errstate(invalid="ignore"):
        return numbers.astype(dtype)


def _real_chunks(flat: Array) -> Iterator[Array]:
    """An array in pieces; complex numbers as float64 moduli."""
    for start in range(0, flat.size, _CHUNK):
        chunk = flat[start : start + _CHUNK]
        yield modulus(chunk) if is_complex(chunk.dtype.name) else chunk


def is_complex(dtype: str) -> bool:
    """Whether numbers of a logical dtype have two parts."""
    return "complex" in dtype


def modulus(numbers: Array) -> npt.NDArray[np.float64]:
    """float64 moduli: NaN if either part is NaN, else infinite if either is, else finite."""
    wide = _quietly(numbers, np.complex128)
    real, imag = wide.real, wide.imag
    with np.errstate(over="ignore", invalid="ignore"):
        found: npt.NDArray[np.float64] = np.hypot(real, imag)
    if not np.isfinite(found).all():
        found[np.isfinite(real) & np.isfinite(imag) & np.isinf(found)] = np.finfo(np.float64).max
        found[np.isnan(real) | np.isnan(imag)] = np.nan
    return found


@cache
def smallest_normal(dtype: str) -> float:
    """The smallest normal magnitude of a dtype (of a part, if it is complex); 0 for integers and bool."""
    if dtype == "bool" or dtype.lstrip("u").startswith("int"):
        return 0.0
    return float(float_limits(dtype).smallest_normal)


@cache
def tiny_id(dtype: str) -> int:
    """Bucket id of the smallest normal number; -1 for float64, whose smallest is in bucket 0."""
    tiny = smallest_normal(dtype)
    if tiny == 0:
        return 0
    exponent = math.frexp(tiny)[1] - 1
    return 2 * (exponent + 127) if exponent >= -127 else -1


def _summary(dtype: str, values: Array, found: Measured) -> Summary:
    mean = std = l2 = low = high = abs_max = math.nan
    if found.finite:
        low, high, abs_max = found.minimum, found.maximum, found.abs_max
        ordinary = MINUTE < abs_max < HUGE or abs_max == 0
        mean, std, l2 = (found.mean, found.std, found.l2) if ordinary else scaled(values.reshape(-1), abs_max)
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


def scaled(flat: Array, abs_max: float) -> tuple[float, float, float]:
    """(mean, std, l2) of numbers whose squares overflow or underflow float64; infinite if the result does."""
    exponent = math.frexp(abs_max)[1]

    def numbers_of() -> Iterator[Array]:
        for chunk in _real_chunks(flat):
            numbers = _quietly(chunk, np.float64)
            yield np.ldexp(numbers[np.isfinite(numbers)], -exponent)

    found = measure_in_numpy(numbers_of(), 0.0)
    with np.errstate(over="ignore"):
        mean, std, l2 = np.ldexp([found.mean, found.std, found.l2], exponent).tolist()
    return mean, std, l2


_COUNTS = ("nan", "pos_inf", "neg_inf", "zero", "negative", "positive", "subnormal", "finite")


def measure_in_numpy(chunks: Iterable[Array], tiny: float) -> Measured:
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
    """Values as float64; 64-bit integers rounded toward zero, so that none enters the next bucket."""
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
