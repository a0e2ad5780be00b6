"""Patterns of sums, products, quotients and powers of two operands."""

from __future__ import annotations

from collections.abc import Sequence

from tensortap.core.text import number_text

from ...dtype_limits import largest
from ..explanation import Explanation, be_verb, elements
from ..operand import Operand
from .unary import DIVISION, LOG, SQRT, Check, overflow_help, prefix


def divide(ins: Sequence[Operand], out: Operand) -> Explanation | None:
    """x/0 = ±inf, 0/0 = NaN, inf/inf = NaN, or the quotient overflows."""
    x, y = ins[:2]
    both_zero = min(x.zero, y.zero) if x.shape == y.shape else x.zero * y.zero  # as many 0/0 at most
    if out.nan > both_zero and x.inf and y.inf:
        text = f"inf/inf = NaN: {x.tensor} and {y.tensor} both contain infinities."
        return Explanation("inf/inf", text, overflow_help(out.dtype))
    if out.nan and both_zero:
        zeros = f"{elements(y.zero)} of {y.tensor} {be_verb(y.zero)} exactly 0"
        text = f"0/0 = NaN: {zeros}, and {elements(x.zero)} of {x.tensor}."
        return Explanation("0/0", text, DIVISION, certain=x.zero == x.size or y.zero == y.size)
    if y.zero:
        text = f"Division by 0: {elements(y.zero)} of {y.tensor} {be_verb(y.zero)} exactly 0."
        return Explanation("division by 0", text, DIVISION)
    if y.finite and out.inf:
        text = f"The quotient overflows {out.dtype}: the divisor of {x.tensor} is too small."
        return Explanation("division overflow", text, DIVISION, certain=False)
    return None


def multiply(ins: Sequence[Operand], out: Operand) -> Explanation | None:
    """0 * inf = NaN, or the product overflows."""
    for x, y in ((ins[0], ins[1]), (ins[1], ins[0])):
        if out.nan and x.zero and y.inf:
            return Explanation("0 * inf", f"0 * inf = NaN: {_zero_times(x, y, out)}.", _ZERO_INF)
    x, y = ins[:2]
    if x.abs_max * y.abs_max > largest(out.dtype):
        ends = f"{number_text(x.abs_max)} and {number_text(y.abs_max)}"
        limit = number_text(largest(out.dtype))
        text = f"The product overflows {out.dtype} ({limit}): the operands reach {ends}."
        return Explanation(f"{prefix(out.dtype)}overflow", text, overflow_help(out.dtype))
    return None


def _zero_times(x: Operand, y: Operand, out: Operand) -> str:
    """The number of infinite elements of `y` multiplied by a 0 of `x`, as far as the counts show."""
    what = f"{elements(y.inf)} of {y.tensor} {be_verb(y.inf)} infinite"
    if out.nan >= y.inf:
        return f"{what}, where {x.tensor} is 0"
    if x.shape == y.shape and not x.nan and not y.nan and not (x.inf and y.zero):
        return f"{what}, and {x.tensor} is 0 at {out.nan:,} of them"
    return f"{what}, and {x.tensor} is 0 at some of them"


def add(ins: Sequence[Operand], out: Operand) -> Explanation | None:
    """inf - inf = NaN, or the sum overflows."""
    return _sum(ins, out, opposite=True)


def subtract(ins: Sequence[Operand], out: Operand) -> Explanation | None:
    """inf - inf = NaN, or the difference overflows."""
    return _sum(ins, out, opposite=False)


def _sum(ins: Sequence[Operand], out: Operand, *, opposite: bool) -> Explanation | None:
    infinite = [x for x in ins if x.inf]
    if out.nan and len(infinite) >= 2:
        x, y = infinite[:2]
        fits = bool((x.pos_inf and y.neg_inf) or (x.neg_inf and y.pos_inf)) if opposite else True
        if fits:
            text = f"inf - inf = NaN: {x.tensor} and {y.tensor} contain infinities at the same position."
            return Explanation("inf - inf", text, "Find the origin of the infinities.")
    if sum(x.abs_max for x in ins if x.finite) > largest(out.dtype):
        ends = " and ".join(number_text(x.abs_max) for x in ins[:2])
        text = (
            f"The sum overflows {out.dtype} ({number_text(largest(out.dtype))}): the operands reach {ends}."
        )
        return Explanation(f"{prefix(out.dtype)}overflow", text, overflow_help(out.dtype))
    return None


def squared_difference(ins: Sequence[Operand], out: Operand) -> Explanation | None:
    """(x - y)² overflows."""
    x, y = ins[:2]
    if (x.abs_max + y.abs_max) ** 2 > largest(out.dtype):
        ends = f"{number_text(x.abs_max)} and {number_text(y.abs_max)}"
        text = (
            f"(x - y)² overflows {out.dtype} ({number_text(largest(out.dtype))}): the operands reach {ends}."
        )
        return Explanation(f"{prefix(out.dtype)}overflow", text, overflow_help(out.dtype))
    return None


def power(ins: Sequence[Operand], out: Operand) -> Explanation | None:
    """0 ** y for y < 0, x ** fraction for x < 0, or the power overflows."""
    x, y = ins[:2]
    if out.nan and x.negative:
        text = f"A negative number to a fractional power is NaN: {elements(x.negative)} of {x.tensor}."
        finite = all(each.known and each.finite == each.size for each in (x, y))  # no other cause
        return Explanation("pow", text, "Take the power of abs(x), or clip the base at 0.", certain=finite)
    if x.zero and y.negative:
        text = f"0 to a negative power = inf: {elements(x.zero)} of {x.tensor} {be_verb(x.zero)} exactly 0."
        return Explanation("pow", text, "Add an epsilon to the base.")
    if out.inf:
        ends = f"{number_text(x.abs_max)} and {number_text(y.max)}"
        return Explanation(
            "pow",
            f"x ** y overflows {out.dtype}: base and exponent reach {ends}.",
            overflow_help(out.dtype),
            certain=False,
        )
    return None


def sqrt_gradient(ins: Sequence[Operand], out: Operand) -> Explanation | None:
    """d sqrt(x) = dy / (2 sqrt(x)): infinite, or 0/0, where x = 0. Inputs: y = sqrt(x), dy."""
    y, dy = ins[:2]
    if y.zero:
        text = (
            "The gradient of sqrt is infinite at 0:"
            f" {elements(y.zero)} of {y.tensor} {be_verb(y.zero)} exactly 0"
            + (", and 0 * inf = NaN." if out.nan and dy.zero else ".")
        )
        return Explanation("norm gradient at 0", text, SQRT)
    return None


def modulo(ins: Sequence[Operand], out: Operand) -> Explanation | None:
    """x mod 0 = NaN."""
    y = ins[1]
    if y.zero:
        text = f"Remainder of a division by 0: {elements(y.zero)} of {y.tensor} {be_verb(y.zero)} exactly 0."
        return Explanation("division by 0", text, DIVISION)
    return None


def xlogy(ins: Sequence[Operand], out: Operand) -> Explanation | None:
    """x * log(y), 0 where x = 0: infinite for y = 0."""
    y = ins[1]
    if y.negative or y.zero:
        which = "log of a negative" if out.nan and y.negative else "log of 0"
        count = y.negative if out.nan and y.negative else y.zero
        return Explanation(which, f"{which}: {elements(count)} of {y.tensor}.", LOG)
    return None


_ZERO_INF = (
    "A 0/1 mask does not remove infinities: use multiply_no_nan, or tf.where on the operand of the "
    "op that produces them (this also fixes the gradient)."
)

BINARY: dict[str, Check] = {
    "RealDiv": divide,
    "Div": divide,
    "Xdivy": divide,
    "TruncateDiv": divide,
    "FloorDiv": divide,
    "Mul": multiply,
    "Add": add,
    "AddV2": add,
    "AddN": add,
    "BiasAdd": add,
    "Sub": subtract,
    "SquaredDifference": squared_difference,
    "Pow": power,
    "SqrtGrad": sqrt_gradient,
    "RsqrtGrad": sqrt_gradient,
    "FloorMod": modulo,
    "Mod": modulo,
    "TruncateMod": modulo,
    "Xlogy": xlogy,
}
