"""Pure functions over an index: what is wrong with a run."""

from .problems import NonfiniteTensor, Problems, problems
from .provenance import Birth, Element, ElementTrace, Link, NanReport, Operand, nan_report, place_text

__all__ = [
    "Birth",
    "Element",
    "ElementTrace",
    "Link",
    "NanReport",
    "NonfiniteTensor",
    "Operand",
    "Problems",
    "nan_report",
    "place_text",
    "problems",
]
