"""Reference outputs: an op computed in float64, and how far rounding may take a kernel from that.

`typical`: the error that kernels make; within it an output is right. `worst`: the largest that a correct
kernel can make, in whatever order it adds, if it rounds every intermediate result to the output's dtype or to
a better one, and whether or not it rounds its inputs as they were captured (XLA keeps more digits of what it
fuses); only beyond it an output is wrong. In between nothing is said.

Bounds of sums: Higham, Accuracy and Stability of Numerical Algorithms (2002), 3.1 and 4.2: at most gamma(n)
sum |terms|, gamma(n) = n u / (1 - n u); typically with sqrt(n) for n (Higham & Mary 2019,
doi:10.1137/18M1226312).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tensortap.core.dtypes import Floats

from ...dtype_limits import largest
from ...model_graph.op_types import is_true
from ..metrics.distances import RTOL

MAX_WORK = 1 << 30  # products that are computed again for one op: a second or two
# Half a spacing at 1: the largest relative error of one rounding.
UNIT = {
    "float64": 2.0**-53,
    "float32": 2.0**-24,
    "float16": 2.0**-11,
    "bfloat16": 2.0**-8,
    "float8_e4m3fn": 2.0**-4,
    "float8_e5m2": 2.0**-3,
}
# Kernels may take inputs below these for 0 where the hardware computes in that dtype.
_NORMAL = {
    "float64": 2.0**-1022,
    "float32": 2.0**-126,
    "float16": 2.0**-14,
    "bfloat16": 2.0**-126,
    "float8_e4m3fn": 2.0**-6,
    "float8_e5m2": 2.0**-14,
}
_ACCUMULATED = 2.0**-24  # in what kernels usually add up 16-bit and 8-bit products
_TF32 = 2.0**-11  # accelerators may round the float32 inputs of products to so few digits
_SAFETY = 4.0  # what Higham & Mary call lambda: errors beyond are as good as impossible


class Reference(NamedTuple):
    """Output of an op, with the absolute errors that are typical and possible; all of the output's shape."""

    value: Floats
    typical: Floats
    worst: Floats


@dataclass(frozen=True, slots=True)
class OpCall:
    """Inputs (float64), attributes, dtype and shape of the output, and whether a CPU computed it."""

    op_type: str
    inputs: Sequence[Floats]
    attributes: dict[str, str]
    dtype: str
    shape: tuple[int, ...]
    cpu: bool

    def flag(self, name: str) -> bool:
        """A boolean attribute; false if it is absent."""
        return is_true(self.attributes, name)

    @property
    def unit(self) -> float:
        """The relative error of one rounding to the output's dtype."""
        return UNIT[self.dtype]


def elementwise(
    compute: Callable[..., Floats], terms: Callable[..., Floats] | None = None
) -> Callable[[OpCall], Reference]:
    """An op that computes its output element by element, with broadcasting. `terms` computes the magnitude of
    intermediate results that cancel, each of which is rounded."""

    def reference(call: OpCall) -> Reference:
        check_shape(np.broadcast_shapes(*(operand.shape for operand in call.inputs)), call)
        value = np.asarray(compute(*call.inputs), np.float64)
        moved = np.zeros(value.shape)
        for position, operand in enumerate(call.inputs):
            for sign in (-1, 1):  # an input that was not rounded when it was used
                inputs = [*call.inputs]
                inputs[position] = operand * (1 + sign * call.unit)
                moved += np.nan_to_num(np.abs(compute(*inputs) - value), nan=0.0, posinf=math.inf)
        moved += _flushed(compute, call, value)
        rounding = RTOL[call.dtype] * np.abs(value)
        if terms is not None:
            rounding = rounding + call.unit * terms(*call.inputs)
        if call.unit <= _ACCUMULATED:
            return Reference(value, rounding, _SAFETY * rounding + 2 * moved)
        # 16-bit and 8-bit ops are often fused with those before them, in float32; but polynomials may be
        # computed in the dtype itself: TensorFlow's tanh of bfloat16 is off by 3 roundings near 0.
        return Reference(value, rounding + moved, _SAFETY**2 * rounding + 2 * moved)

    return reference


def _flushed(compute: Callable[..., Floats], call: OpCall, value: Floats) -> Floats:
    """How far outputs move if subnormal inputs are taken for 0."""
    normal = _NORMAL[call.dtype]
    flushed = np.asarray(compute(*(np.where(np.abs(each) < normal, 0.0, each) for each in call.inputs)))
    moved: Floats = np.nan_to_num(np.abs(flushed - value), nan=math.inf, posinf=math.inf)
    moved[(flushed == value) | np.isnan(value)] = 0.0
    return moved


def check_shape(shape: tuple[int, ...], call: OpCall) -> None:
    """Raises ValueError if the op's result would not have the captured shape, before anything is allocated
    for it."""
    if shape != call.shape:
        raise ValueError(f"{call.op_type} gives {shape}, not {call.shape}")


def of_sum(
    call: OpCall, value: Floats, magnitude: Floats, terms: int, *, products: bool = False, mean: bool = False
) -> Reference:
    """The error bounds of a sum with this number of terms and this total magnitude, or of their mean."""
    accumulated = min(call.unit, _ACCUMULATED)
    typical = _SAFETY * math.sqrt(terms) * accumulated * magnitude
    share = gamma(terms + 2, call.unit) + 2 * call.unit
    if products and not call.cpu and call.dtype != "float64":
        typical = typical + 2 * _TF32 * magnitude
        share += 2 * max(_TF32, call.unit)
    parts = magnitude * terms if mean else magnitude
    worst = np.where(parts < largest(call.dtype), share * magnitude, math.inf)  # a part may overflow
    return Reference(value, RTOL[call.dtype] * np.abs(value) + typical, worst)


def gamma(terms: int, unit: float) -> float:
    """Higham's bound of the relative error of this number of roundings; infinite if there is none."""
    return terms * unit / (1 - terms * unit) if terms * unit < 0.5 else math.inf
