"""The summary of an array: exact counts, statistics over the finite elements, histogram, in one pass."""

from __future__ import annotations

import math
from typing import Any

import ml_dtypes
import numpy as np

from . import plain
from .dtypes import STRING, Array, normalize
from .histogram import Histogram
from .records import Summary
from .totals import Totals

_CHUNK = 1 << 16


def summarize(array: Any) -> Summary:
    """Measures an array of any supported dtype and shape.

    Sums are float64. The mean and the squared deviations `m2` are formed block by block and combined by Chan's
    formula; `std = sqrt(m2 / n)` and `l2 = sqrt(m2 + n * mean²)`, in which nothing cancels, so a mean of 1e8 with
    noise of 1e-3 keeps its standard deviation. Where squares would overflow or vanish (float64 beyond about 1e±140)
    a second, scaled pass is made.

    Raises:
        InvalidValueError: the array has a dtype that cannot be dumped.
    """
    values, dtype = normalize(array)
    return summarize_normal(values, dtype)


def summarize_normal(values: Array, dtype: str) -> Summary:
    """`summarize` for what `normalize` returned."""
    totals = Totals()
    if dtype == STRING:
        return _summary(totals, dtype, values.shape, values.size, math.nan)
    flat = values.reshape(-1)
    tiny = smallest_normal(values.dtype)
    if values.dtype.kind == "c" or "complex" in dtype:
        for start in range(0, flat.size, _CHUNK):
            plain.scan(modulus(flat[start : start + _CHUNK]), totals, tiny)
    else:
        plain.scan(flat, totals, tiny)
    return _summary(totals, dtype, values.shape, values.size, _norm(totals))


def modulus(chunk: Array) -> Array:
    """float64 moduli of complex numbers: NaN if either part is NaN, else infinite if either part is."""
    wide = chunk.astype(np.complex128)
    real, imag = wide.real, wide.imag
    with np.errstate(over="ignore", invalid="ignore"):
        size = np.hypot(real, imag)
    size[np.isinf(size) & np.isfinite(real) & np.isfinite(imag)] = np.finfo(np.float64).max
    size[np.isnan(real) | np.isnan(imag)] = np.nan
    return size


def smallest_normal(dtype: np.dtype[Any]) -> float:
    """The smallest normal magnitude of a dtype (of a part, if it is complex); 0 for integers and bool."""
    if dtype.kind in "biu" or dtype.name.lstrip("u").startswith("int"):
        return 0.0
    part = {"complex32": "float16", "bcomplex32": "bfloat16"}.get(dtype.name, dtype)
    return float(ml_dtypes.finfo(part).smallest_normal)


def _norm(totals: Totals) -> float:
    return math.sqrt(totals.m2 + totals.finite * totals.mean * totals.mean)


def _summary(totals: Totals, dtype: str, shape: tuple[int, ...], size: int, l2: float) -> Summary:
    none = totals.finite == 0
    return Summary(
        dtype=dtype,
        shape=shape,
        size=size,
        nan=totals.nan,
        pos_inf=totals.pos_inf,
        neg_inf=totals.neg_inf,
        zero=totals.zero,
        negative=totals.negative,
        positive=totals.positive,
        subnormal=totals.subnormal,
        min=math.nan if none else totals.minimum,
        max=math.nan if none else totals.maximum,
        mean=math.nan if none else totals.mean,
        std=math.nan if none else math.sqrt(totals.m2 / totals.finite),
        l2=math.nan if none else l2,
        abs_max=math.nan if none else max(abs(totals.minimum), abs(totals.maximum)),
        histogram=Histogram.from_table(totals.table),
    )
