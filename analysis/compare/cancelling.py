"""Sums that cancel: how much larger their terms are than they, for rounding is as large as the terms say."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from ..ops import ops

# Not Sub and Add: two numbers of a program's own formula that cancel are what somebody hunts for.
_ADD = ops("Sum Mean BiasAddGrad AddN SegmentSum UnsortedSegmentSum")
_PRODUCTS = ops("MatMul BatchMatMul BatchMatMulV2 BatchMatMulV3 Einsum")
_SCALE = ops(
    "Reshape Transpose Identity Squeeze ExpandDims StopGradient Cast Neg Mul Tile BroadcastTo Snapshot"
)


class Magnitude(NamedTuple):
    """The scale of a tensor that differs (0: it does not, or not known), and the largest magnitude of what it
    was added up from."""

    scale: float = 0.0
    terms: float = 0.0


NO_MAGNITUDE = Magnitude()


def condition(op_type: str, taken: Sequence[Magnitude], scale: float) -> float:
    """How many times larger the terms of a tensor are than its scale; 1 where nothing cancels.

    The rounding of a sum is bounded by the magnitudes of its terms (Higham 2002, Accuracy and Stability of
    Numerical Algorithms, 4.2): a sum that is 0 by mathematics consists of it. What is copied, or multiplied,
    keeps the ratio of what it takes; of other ops nothing is said.

    Args:
        taken: of the op's inputs. scale: of its output.
    """
    if not scale > 0 or not taken:
        return 1.0
    if op_type in _ADD:
        return max(1.0, max(each.terms for each in taken) / scale)
    if op_type in _PRODUCTS:
        return max(1.0, math.prod(each.terms for each in taken[:2]) / scale)
    if op_type in _SCALE:
        return max([1.0, *(each.terms / each.scale for each in taken if each.scale > 0)])
    return 1.0
