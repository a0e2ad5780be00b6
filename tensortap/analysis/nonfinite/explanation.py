"""An explanation of a non-finite value by a known pattern, in a sentence."""

from __future__ import annotations

from dataclasses import dataclass

from tensortap.core.text import counted

from .operand import Operand


@dataclass(frozen=True, slots=True)
class Explanation:
    """`pattern`: its short name, as in docs/problems.md. `text`: what happened, a sentence. `help`: the usual
    fix. `certain`: whether the captured numbers prove it, rather than only fit it."""

    pattern: str
    text: str
    help: str = ""
    certain: bool = True


def elements(count: int) -> str:
    """`1 element`, `1,200 elements`."""
    return counted(count, "element")


def be_verb(count: int) -> str:
    """`1 element … is`, `2 elements … are`."""
    return "is" if count == 1 else "are"


def explain_input_data(tensor: Operand) -> Explanation:
    """The explanation of data that are not finite already."""
    bad = tensor.nan + tensor.inf
    text = f"The input data contain NaN or Inf: {elements(bad)} of {tensor.tensor} {be_verb(bad)} not finite."
    return Explanation("data", text, _DATA)


_DATA = "Remove these samples or fill in missing values before training; np.isfinite(x).all() finds them."
