"""Sums that cancel: how much larger their terms are than they, for rounding is as large as the terms say."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from ...model_graph.op_sets import ops

# Not Sub and Add: two numbers of a program's own formula that cancel are what somebody hunts for. But of what
# cancelled before, they keep the rounding; so do variables of what they are given.
_KEEP = ops("Sub Add AddV2 ReadVariableOp")
_ADD = ops("Sum Mean BiasAddGrad AddN SegmentSum UnsortedSegmentSum")
_PRODUCTS = ops("MatMul BatchMatMul BatchMatMulV2 BatchMatMulV3 Einsum")
_SCALE = ops(
    "Reshape Transpose Identity IdentityN Squeeze ExpandDims StopGradient Cast Neg Mul RealDiv Sqrt Tile "
    "BroadcastTo Snapshot"
)
_SQUARE = 2.0  # times the relative error of x is that of x²


class Magnitude(NamedTuple):
    """The scale of a tensor that differs (0: it does not, or not known), and the largest magnitude of what it
    was added up from."""

    scale: float = 0.0
    terms: float = 0.0


NO_MAGNITUDE = Magnitude()


def condition(op_type: str, taken: Sequence[Magnitude], scale: float) -> float:
    """How many times larger the rounding of a tensor is than its scale says; 1 where nothing cancels.

    The rounding of a sum is bounded by the magnitudes of its terms (Higham 2002, Accuracy and Stability of
    Numerical Algorithms, 4.2): a sum that is 0 by mathematics consists of it. What is copied, or multiplied,
    keeps the ratio of what it takes, a square twice that; of other ops nothing is said.

    Args:
        taken: of the op's inputs. scale: of its output.
    """
    if not scale > 0 or not taken:
        return 1.0
    if op_type in _ADD:
        return max(1.0, max(each.terms for each in taken) / scale)
    if op_type in _PRODUCTS:
        return max(1.0, math.prod(each.terms for each in taken[:2]) / scale)
    if op_type in _KEEP:
        return max([1.0, *(each.terms / scale for each in taken if each.terms > each.scale > 0)])
    ratio = max([1.0, *(each.terms / each.scale for each in taken if each.scale > 0)])
    if op_type in _SCALE:
        return ratio
    if op_type == "Square":
        return _SQUARE * ratio
    return 1.0
