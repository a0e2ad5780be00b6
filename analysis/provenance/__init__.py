"""Where NaN and infinities were born, what handed them on, and what they reached."""

from .birth import Birth
from .chain import Link
from .elements import Element, ElementTrace
from .ends import Ends, Healer
from .explanation import Explanation
from .flow import VERDICTS
from .operand import Operand
from .places import place_text
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
