"""The table of known patterns: op type -> the function that explains why its output is not finite."""

from __future__ import annotations

from collections.abc import Sequence

from ..explanation import Explanation
from ..operand import Operand
from .binary import BINARY
from .reductions import REDUCTIONS, TWO_OPERANDS
from .unary import GRADIENTS, UNARY, Check

PATTERNS: dict[str, Check] = {**UNARY, **BINARY, **REDUCTIONS, **TWO_OPERANDS, **GRADIENTS}
# Operands that a pattern needs; one where nothing is said.
_OPERANDS = {**dict.fromkeys((*BINARY, *TWO_OPERANDS, *GRADIENTS), 2), "AddN": 1}
_ONLY_CAUSE = (
    (("Log",), "neg_inf", "log of 0", "log(0) = -inf"),
    (("Log", "Log1p"), "nan", "log of a negative", "The logarithm of a negative number is NaN"),
    (("Sqrt", "Rsqrt"), "nan", "sqrt of a negative", "The square root of a negative number is NaN"),
    (("Rsqrt",), "pos_inf", "rsqrt of 0", "1/sqrt(0) = inf"),
    (("Exp", "Expm1"), "pos_inf", "exp overflow", "exp overflows"),
    (("RealDiv", "Div", "Reciprocal"), "inf", "division by 0", "Division by 0 or by a very small number"),
    (("RealDiv", "Div"), "nan", "0/0", "0/0 = NaN"),
)


def explain(op_type: str, ins: Sequence[Operand], out: Operand) -> Explanation | None:
    """The pattern that fits a node's operands and output; None if none fits or the op is not in the table.

    If an operand was not captured, only facts proven by the others are reported.
    """
    if not any(operand.known for operand in ins):
        return _from_output(op_type, out)
    check = PATTERNS.get(op_type)
    if check is None or len(ins) < _OPERANDS.get(op_type, 1):
        return None
    return check(ins, out)


def _from_output(op_type: str, out: Operand) -> Explanation | None:
    """Explain by the output alone, where no input was captured: some ops can only fail in one way."""
    found = next((entry for entry in _ONLY_CAUSE if op_type in entry[0] and getattr(out, entry[1])), None)
    if found is None:
        return None
    _, _, pattern, text = found
    return Explanation(pattern, f"{text} (its input was not captured).", certain=False)
