"""Where NaN and infinities were born, what handed them on, and what they reached."""

from .elements.trace import Element, ElementTrace
from .explanation import Explanation
from .nan_report import NanReport, nan_report, novel_steps, step_report
from .nonfinite_flow import VERDICTS
from .operand import Operand
from .origin import Origin
from .path_to_loss import Link
from .reach import Healer, Impact
from .report_text import place_text

__all__ = [
    "VERDICTS",
    "Element",
    "ElementTrace",
    "Explanation",
    "Healer",
    "Impact",
    "Link",
    "NanReport",
    "Operand",
    "Origin",
    "nan_report",
    "novel_steps",
    "place_text",
    "step_report",
]
