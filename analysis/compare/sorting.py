"""The tensors of a comparison, sorted: the worst first, unknown ones last."""

from __future__ import annotations

import math
from collections.abc import Iterable

from .flow import VERDICTS
from .metrics import LOWER_IS_WORSE, METRICS
from .records import TensorDifference

SORTS = ("order", "verdict", "tensor", *METRICS)


def sorted_tensors(tensors: Iterable[TensorDifference], by: str) -> list[TensorDifference]:
    """Sorted by data flow (`order`), `verdict`, `tensor`, or a metric, the worst first.

    Raises:
        ValueError: `by` is none of these.
    """
    if by not in SORTS:
        raise ValueError(f"{by!r} is not one of {', '.join(SORTS)}")
    if by == "order":
        return list(tensors)
    if by == "verdict":
        return sorted(tensors, key=lambda entry: VERDICTS.index(entry.verdict))
    if by == "tensor":
        return sorted(tensors, key=lambda entry: entry.tensor)
    sign = 1 if by in LOWER_IS_WORSE else -1

    def worst(entry: TensorDifference) -> tuple[bool, float]:
        value = float(getattr(entry.metrics, by))
        return math.isnan(value), 0.0 if math.isnan(value) else sign * value

    return sorted(tensors, key=worst)
