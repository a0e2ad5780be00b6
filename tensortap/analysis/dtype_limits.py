"""The largest finite numbers of the floating point dtypes."""

from __future__ import annotations

import math

# IEEE 754 (float16/32/64), bfloat16 as in ml_dtypes, and the float8 formats of the OCP specification 1.0.
LARGEST = {
    "float16": 65504.0,
    "bfloat16": 3.3895313892515355e38,
    "float32": 3.4028234663852886e38,
    "float64": 1.7976931348623157e308,
    "float8_e4m3fn": 448.0,
    "float8_e5m2": 57344.0,
    "float8_e4m3b11fnuz": 30.0,
    "float8_e4m3fnuz": 240.0,
    "float8_e5m2fnuz": 57344.0,
    "complex64": 3.4028234663852886e38,
    "complex128": 1.7976931348623157e308,
}


def largest(dtype: str) -> float:
    """The largest finite number of a dtype; infinite for dtypes without infinities or unknown ones."""
    return LARGEST.get(dtype, math.inf)


def exp_limit(dtype: str) -> float:
    """The largest x whose exp(x) is finite in a dtype."""
    return math.log(largest(dtype)) if math.isfinite(largest(dtype)) else math.inf
