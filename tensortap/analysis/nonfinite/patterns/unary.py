"""Patterns of functions of one operand, and of the gradients of activations (0 * inf = NaN)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from tensortap.core.text import number_beside, number_text

from ...dtype_limits import exp_limit, largest
from ..explanation import Explanation, be_verb, elements
from ..operand import Operand

Check = Callable[[Sequence[Operand], Operand], Explanation | None]


def log(ins: Sequence[Operand], out: Operand) -> Explanation | None:
    """log(0) = -inf, log(x < 0) = NaN."""
    (x, *_) = ins
    if x.negative and out.nan:
        what = (
            f"{elements(x.negative)} of {x.tensor} {be_verb(x.negative)} negative (min {number_text(x.min)})"
        )
        also = f", and {x.zero:,} exactly 0 (log(0) = -inf)" if x.zero else ""
        return Explanation("log of a negative", f"log of a negative number is NaN: {what}{also}.", LOG)
    if x.zero:
        what = f"{elements(x.zero)} of {x.tensor} {be_verb(x.zero)} exactly 0"
        return Explanation("log of 0", f"log(0) = -inf: {what}.", LOG)
    return None


def log1p(ins: Sequence[Operand], out: Operand) -> Explanation | None:
    """log1p(-1) = -inf, log1p(x < -1) = NaN."""
    (x, *_) = ins
    if x.min < -1:
        text = f"log1p of a value below -1 is NaN: {x.tensor} goes down to {number_beside(x.min, -1)}."
        return Explanation("log of a negative", text, LOG)
    if x.min == -1:
        return Explanation("log of 0", f"log1p(-1) = -inf: {x.tensor} reaches -1.", LOG)
    return None


def exp(ins: Sequence[Operand], out: Operand) -> Explanation | None:
    """exp overflows above log(largest number)."""
    (x, *_) = ins
    limit = exp_limit(out.dtype)
    if x.max > limit:
        reached = number_beside(x.max, limit)
        text = f"exp overflows {out.dtype} above {number_text(limit)}: {x.tensor} goes up to {reached}."
        return Explanation("exp overflow", text, _EXP)
    return None


def hyperbolic(name: str) -> Check:
    """sinh and cosh are exp(|x|)/2 far from 0, so they overflow on either side above log(2 * largest)."""

    def check(ins: Sequence[Operand], out: Operand) -> Explanation | None:
        (x, *_) = ins
        limit = exp_limit(out.dtype) + math.log(2)
        if x.abs_max > limit:
            text = (
                f"{name} is exp(|x|)/2 there and overflows {out.dtype} above {number_text(limit)}: "
                f"|{x.tensor}| goes up to {number_beside(x.abs_max, limit)}."
            )
            return Explanation("exp overflow", text, _EXP)
        return None

    return check


def sqrt(ins: Sequence[Operand], out: Operand) -> Explanation | None:
    """sqrt(x < 0) = NaN."""
    (x, *_) = ins
    if x.negative:
        what = (
            f"{elements(x.negative)} of {x.tensor} {be_verb(x.negative)} negative (min {number_text(x.min)})"
        )
        return Explanation(
            "sqrt of a negative", f"The square root of a negative number is NaN: {what}.", SQRT
        )
    return None


def rsqrt(ins: Sequence[Operand], out: Operand) -> Explanation | None:
    """1/sqrt(0) = inf, 1/sqrt(x < 0) = NaN."""
    found = sqrt(ins, out)
    (x, *_) = ins
    if found is None and x.zero:
        text = f"1/sqrt(0) = inf: {elements(x.zero)} of {x.tensor} {be_verb(x.zero)} exactly 0."
        return Explanation("rsqrt of 0", text, SQRT)
    return found


def reciprocal(ins: Sequence[Operand], out: Operand) -> Explanation | None:
    """1/0 = inf."""
    (x, *_) = ins
    if x.zero:
        text = f"1/0 = inf: {elements(x.zero)} of {x.tensor} {be_verb(x.zero)} exactly 0."
        return Explanation("division by 0", text, DIVISION)
    if x.finite and out.inf:
        text = f"1/x overflows {out.dtype}: {x.tensor} comes too close to 0."
        return Explanation("division overflow", text, DIVISION, certain=False)
    return None


def square(ins: Sequence[Operand], out: Operand) -> Explanation | None:
    """x² overflows above the square root of the largest number."""
    (x, *_) = ins
    limit = largest(out.dtype) ** 0.5
    if x.abs_max > limit:
        reached = number_beside(x.abs_max, limit)
        text = f"x² overflows {out.dtype} above {number_text(limit)}: |{x.tensor}| goes up to {reached}."
        return Explanation(f"{prefix(out.dtype)}overflow", text, overflow_help(out.dtype))
    return None


def cast(ins: Sequence[Operand], out: Operand) -> Explanation | None:
    """A number above the target's largest one becomes infinite."""
    (x, *_) = ins
    if x.abs_max > largest(out.dtype):
        limit = largest(out.dtype)
        range_text = f"|{x.tensor}| ({x.dtype}) goes up to {number_beside(x.abs_max, limit)}"
        text = f"{out.dtype} overflows above {number_text(limit)}: {range_text}."
        return Explanation(f"{prefix(out.dtype)}overflow", text, overflow_help(out.dtype))
    return None


def beyond(limit: float, name: str) -> Check:
    """A function that is defined for |x| <= `limit` only."""

    def check(ins: Sequence[Operand], out: Operand) -> Explanation | None:
        (x, *_) = ins
        if x.abs_max >= limit:
            text = (
                f"{name} is not finite outside its domain: |{x.tensor}| goes up to "
                f"{number_beside(x.abs_max, limit)}."
            )
            return Explanation("outside the domain", text, "Clip the operand into the function's domain.")
        return None

    return check


def acosh(ins: Sequence[Operand], out: Operand) -> Explanation | None:
    """acosh(x < 1) = NaN."""
    (x, *_) = ins
    if x.min < 1:
        text = f"acosh of a value below 1 is NaN: {x.tensor} goes down to {number_beside(x.min, 1)}."
        return Explanation("outside the domain", text, "Clip the operand to at least 1.")
    return None


def poles(ins: Sequence[Operand], out: Operand) -> Explanation | None:
    """lgamma and digamma have poles at 0, -1, -2, …."""
    (x, *_) = ins
    if x.zero or x.negative:
        text = f"{x.tensor} has {elements(x.zero + x.negative)} at or below 0, where the function has poles."
        return Explanation(
            "outside the domain", text, "Keep the operand positive, e.g. with softplus.", certain=False
        )
    return None


def prefix(dtype: str) -> str:
    return f"{dtype} " if dtype in ("float16", "bfloat16") or dtype.startswith("float8") else ""


LOG = (
    "Compute the logarithm from logits (log_softmax, from_logits=True), or keep the operand above "
    "0: log(x + 1e-7), tf.maximum(x, tiny)."
)
_EXP = "Subtract the maximum first (softmax, logsumexp), use a stable form (softplus), or clip the operand."
SQRT = "Clip at 0 and add an epsilon under the root: sqrt(maximum(x, 0) + 1e-12)."
DIVISION = "Add an epsilon to the divisor, or use tf.math.divide_no_nan."


def overflow_help(dtype: str) -> str:
    """What helps where numbers of a dtype overflow: another dtype only if it has a larger range."""
    advice = "Keep the values smaller (normalize, scale the loss)"
    if dtype == "float16" or dtype.startswith("float8"):
        return f"{advice}, or compute this op in float32 or bfloat16, which has the range of float32."
    return f"{advice}."


def python(ins: Sequence[Operand], out: Operand) -> Explanation | None:
    """A Python function that TensorFlow calls; its computation is unknown."""
    if any(x.nan or x.inf for x in ins if x.known):
        return None
    zeros = [f"{elements(x.zero)} of {x.tensor} {be_verb(x.zero)} exactly 0" for x in ins if x.zero]
    beside = f"; {zeros[0]}" if zeros else ""
    proven = all(x.known for x in ins)
    inputs = "finite inputs" if proven else "inputs of which those captured are finite"
    text = f"The Python function returned NaN or Inf for {inputs}{beside}."
    return Explanation("Python function", text, _PYTHON, certain=proven)


_PYTHON = "Check the Python function: with np.seterr(all='raise') NumPy raises an error at the origin."

UNARY: dict[str, Check] = {
    "EagerPyFunc": python,
    "PyFunc": python,
    "PyFuncStateless": python,
    "Log": log,
    "Log1p": log1p,
    "Exp": exp,
    "Expm1": exp,
    "Sinh": hyperbolic("sinh"),
    "Cosh": hyperbolic("cosh"),
    "Sqrt": sqrt,
    "Rsqrt": rsqrt,
    "Reciprocal": reciprocal,
    "Inv": reciprocal,
    "Square": square,
    "Cast": cast,
    "Acos": beyond(1, "acos"),
    "Asin": beyond(1, "asin"),
    "Atanh": beyond(1, "atanh"),
    "Erfinv": beyond(1, "erfinv"),
    "Ndtri": beyond(1, "ndtri"),
    "Acosh": acosh,
    "Lgamma": poles,
    "Digamma": poles,
}


def slope(name: str, *, of: int, flat: Callable[[Operand], int], where: str) -> Check:
    """The gradient of an activation: dy times its slope.

    Args:
        name: the activation's. of: which of the two inputs the slope is computed of; the other is dy.
        flat: how many elements of that input have a slope of 0, at least.
        where: which elements those are, in words; `{}` is replaced by the tensor.
    """

    def check(ins: Sequence[Operand], out: Operand) -> Explanation | None:
        x, dy = ins[of], ins[1 - of]
        if not (out.nan and dy.inf and flat(x)):
            return None
        text = (
            f"0 * inf = NaN: {elements(dy.inf)} of {dy.tensor} {be_verb(dy.inf)} infinite, "
            f"and the slope of {name} is 0 {where.format(x.tensor)}."
        )
        return Explanation("0 * inf", text, "Find the origin of the infinities.")

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
    "SeluGrad": slope("SELU", of=1, flat=lambda y: int(y.min <= -1.758), where="where {} is at its minimum"),
    "SoftplusGrad": slope(
        "softplus", of=1, flat=lambda x: int(x.min <= -100), where="where {} is far below 0"
    ),
}
