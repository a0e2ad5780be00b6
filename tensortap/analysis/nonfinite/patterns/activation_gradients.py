"""Patterns of the gradients of activations: an infinite gradient times a slope of 0 is NaN."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..explanation import Explanation, are, elements
from ..operand import Operand
from .unary import Check


def slope(name: str, *, of: int, flat: Callable[[Operand], int], where: str) -> Check:
    """The gradient of an activation: dy times its slope.

    Args:
        name: the activation's. of: which of the two inputs the slope is computed of; the other is dy.
        flat: how many elements of that input have a slope of 0, at least.
        where: which elements those are, in words; `{}` stands for the tensor.
    """

    def check(ins: Sequence[Operand], out: Operand) -> Explanation | None:
        x, dy = ins[of], ins[1 - of]
        if not (out.nan and dy.inf and flat(x)):
            return None
        text = (
            f"0 * inf = NaN: {elements(dy.inf)} of {dy.tensor} {are(dy.inf)} infinite, "
            f"and the slope of {name} is 0 {where.format(x.tensor)}."
        )
        return Explanation("0 * inf", text, "Look at where the infinities come from.")

    return check


def _not_above_zero(x: Operand) -> int:
    return x.zero + x.negative + x.neg_inf


def _zero_or_one(y: Operand) -> int:
    return y.zero + (y.max >= 1)


def _at_either_end(y: Operand) -> int:
    return int(y.abs_max >= 1)


_BELOW = "where {} is not above 0"

GRADIENTS: dict[str, Check] = {
    "ReluGrad": slope("ReLU", of=1, flat=_not_above_zero, where=_BELOW),
    "Relu6Grad": slope(
        "ReLU6", of=1, flat=lambda x: _not_above_zero(x) + (x.max >= 6), where=_BELOW + " or not below 6"
    ),
    "SigmoidGrad": slope("sigmoid", of=0, flat=_zero_or_one, where="where {} is exactly 0 or 1"),
    "TanhGrad": slope("tanh", of=0, flat=_at_either_end, where="where {} is exactly 1 or -1"),
    "EluGrad": slope("ELU", of=1, flat=lambda y: int(y.min <= -1), where="where {} is exactly -1"),
    "SeluGrad": slope(
        "SELU", of=1, flat=lambda y: int(y.min <= -1.758), where="where {} is at its lower end"
    ),
    "SoftplusGrad": slope(
        "softplus", of=1, flat=lambda x: int(x.min <= -100), where="where {} is far below 0"
    ),
}
