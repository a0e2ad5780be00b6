"""Where NaN and infinities were born, what handed them on, and what they reached."""

from .chain import Link
from .elements.element_names import place_text
from .elements.trace import Element, ElementTrace
from .explanation import Explanation
from .operand import Operand
from .origin import Birth
from .propagation import VERDICTS
from .reach import Ends, Healer
from .report import NanReport, nan_report, novel_steps, step_report

__all__ = [
    "VERDICTS",
    "Birth",
    "Element",
    "ElementTrace",
    "Ends",
    "Explanation",
    "Healer",
    "Link",
    "NanReport",
    "Operand",
    "nan_report",
    "novel_steps",
    "place_text",
    "step_report",
]
