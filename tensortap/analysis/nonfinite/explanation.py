"""An explanation: the known pattern behind a non-finite value, in a sentence."""

from __future__ import annotations

from dataclasses import dataclass

from tensortap.core.text import counted

from .operand import Operand


@dataclass(frozen=True, slots=True)
class Explanation:
    """`pattern`: its short name, as docs/problems.md lists it. `text`: what happened, a sentence. `help`:
    what usually helps. `certain`: whether the numbers at hand prove it, or only fit it."""

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


def number(value: float) -> str:
    """Four significant digits."""
    return f"{value:.4g}"


def number_beside(value: float, limit: float) -> str:
    """Format a number with as many digits, at least four, as distinguish it from a limit beside it."""
    written = (limit, float(number(limit)))
    texts = (f"{value:.{digits}g}" for digits in range(4, 18))
    return next((text for text in texts if float(text) not in written), number(value))


def explain_input_data(tensor: Operand) -> Explanation:
    """The explanation of data that are not finite already."""
    bad = tensor.nan + tensor.inf
    text = f"The input data contain NaN or Inf: {elements(bad)} of {tensor.tensor} {be_verb(bad)} not finite."
    return Explanation("data", text, _DATA)


_DATA = "Remove these samples or fill in missing values before training; np.isfinite(x).all() finds them."
