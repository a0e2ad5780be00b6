"""The largest finite numbers of the floating-point dtypes."""

from __future__ import annotations

import math
from functools import cache

from tensortap.core.dtypes import float_limits, is_floating
from tensortap.core.errors import InvalidValueError


@cache
def largest(dtype: str) -> float:
    """The largest finite number of a floating-point dtype (of a part, if it is complex); infinite for others
    and unknown ones."""
    try:
        return float(float_limits(dtype).max) if is_floating(dtype) else math.inf
    except InvalidValueError:
        return math.inf


def exp_limit(dtype: str) -> float:
    """The largest x whose exp(x) is finite in a dtype."""
    return math.log(largest(dtype)) if math.isfinite(largest(dtype)) else math.inf
