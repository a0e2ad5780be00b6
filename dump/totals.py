"""What one pass over an array adds up, whichever way it is made."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from .histogram import BUCKETS


@dataclass(slots=True)
class Totals:
    """Counts, a running mean with the sum of squared deviations from it (`m2`), and all `BUCKETS` counts by id.

    Blocks are combined by Chan's formula: every term is non-negative, so a large mean cannot cancel a small variance.
    """

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
    table: npt.NDArray[np.int64] = field(default_factory=lambda: np.zeros(BUCKETS, np.int64))

    def add_block(self, count: int, mean: float, m2: float, minimum: float, maximum: float) -> None:
        """Adds `count` > 0 finite elements with that mean and sum of squared deviations."""
        total = self.finite + count
        delta = mean - self.mean
        self.mean += delta * count / total
        self.m2 += m2 + delta * delta * self.finite * count / total
        self.finite = total
        self.minimum = min(self.minimum, float(minimum))
        self.maximum = max(self.maximum, float(maximum))
