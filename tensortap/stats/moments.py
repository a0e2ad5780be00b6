"""`Measured`: counts, histogram and moments that one pass over an array finds."""

from __future__ import annotations

import math
from typing import NamedTuple

from tensortap.core.histogram import Histogram

SMALL = 1024  # elements of an array that is measured together with others: a call costs as much as 3,000


class Measured(NamedTuple):
    """Histogram, exact counts, mean, sum of squared deviations (`m2`) and extremes of the finite elements."""

    histogram: Histogram = Histogram.empty()
    nan: int = 0
    pos_inf: int = 0
    neg_inf: int = 0
    zero: int = 0
    negative: int = 0
    positive: int = 0
    subnormal: int = 0
    finite: int = 0
    mean: float = 0.0
    m2: float = 0.0
    minimum: float = math.inf
    maximum: float = -math.inf

    @property
    def abs_max(self) -> float:
        """Largest finite magnitude."""
        return max(abs(self.minimum), abs(self.maximum))

    @property
    def std(self) -> float:
        """Population standard deviation."""
        return math.sqrt(self.m2 / self.finite)

    @property
    def l2(self) -> float:
        """Euclidean norm; both terms are non-negative, so nothing cancels."""
        return math.sqrt(self.m2 + self.finite * self.mean * self.mean)
