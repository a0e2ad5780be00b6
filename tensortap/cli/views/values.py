"""An array as text, the elements in some ranges highlighted (as `pt -r` of tfdbg did)."""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from rich.text import Text

from tensortap.core.dtypes import Array
from tensortap.core.text import escaped

_MAX_PRINTED = 2000  # elements; of larger arrays, the edges
_ELEMENT = re.compile(r"[^\s\[\]]+")
_STYLE = "bold black on yellow"


@dataclass(frozen=True, slots=True)
class Highlight:
    """Elements to highlight: from `low` to `high`, both included, or the NaNs."""

    low: float = -math.inf
    high: float = math.inf
    nan: bool = False

    def mask(self, values: Array) -> Array:
        """Which elements are meant, bool, of the shape of `values`."""
        if self.nan:
            return np.asarray(values != values)
        return np.asarray((values >= self.low) & (values <= self.high))


def parse_highlight(text: str) -> Highlight:
    """`nan`, `inf` (both infinities are `inf` and `-inf`), `1:`, `:-1`, `-1:1`, or one number.

    Raises:
        argparse.ArgumentTypeError: it is none of these.
    """
    if text.strip().lower() == "nan":
        return Highlight(nan=True)
    low, colon, high = text.partition(":")
    try:
        first = float(low) if low.strip() or not colon else -math.inf
        last = (float(high) if high.strip() else math.inf) if colon else first
    except ValueError:
        first = last = math.nan
    if math.isnan(first) or math.isnan(last) or first > last:
        raise argparse.ArgumentTypeError(f"{text!r} is no range; use 'nan', '1:', ':-1', '-1:1' or a number")
    return Highlight(first, last)


def value_lines(values: Array, width: int, highlights: Sequence[Highlight] = ()) -> Iterator[Text]:
    """The lines of an array as NumPy prints it; arrays above 2,000 elements are cut, and not highlighted."""
    with np.printoptions(threshold=_MAX_PRINTED, linewidth=min(width, 200), precision=5):
        text = str(_printable(values))
    marks = _marks(values, highlights) if values.size <= _MAX_PRINTED else iter(())
    for line in text.splitlines():
        yield _marked(line, marks)


def _printable(values: Array) -> Any:
    """Text as text where it is UTF-8; numbers of which NumPy does not know how wide they are as float32."""
    if values.dtype == object:
        texts = np.array([_text(value) for value in values.ravel().tolist()], object)
        return texts.reshape(values.shape) if values.ndim else repr(texts[0])
    return values.astype(np.float32) if values.dtype.kind == "V" else values


def _text(value: Any) -> Any:
    try:
        return value.decode() if isinstance(value, bytes) else value
    except UnicodeDecodeError:
        return value


def can_highlight(values: Array) -> bool:
    """Whether the elements can lie in a range: neither text nor complex numbers can."""
    return values.dtype.kind in "biufV" and not values.dtype.hasobject


def highlighted_count(values: Array, highlights: Sequence[Highlight]) -> int:
    """How many elements are in one of the ranges."""
    return sum(_marks(values, highlights))


def _marks(values: Array, highlights: Sequence[Highlight]) -> Iterator[bool]:
    """For each element, in the order in which they are printed, whether it is highlighted."""
    if not highlights or not can_highlight(values):
        return iter(())
    numbers = values.astype(np.float64)
    found: Array = np.logical_or.reduce([highlight.mask(numbers) for highlight in highlights])
    return iter(found.ravel().tolist())


def _marked(line: str, marks: Iterator[bool]) -> Text:
    text = Text(escaped(line))
    if len(text) == len(line):  # nothing was escaped: positions are the same
        for element in _ELEMENT.finditer(line):
            if next(marks, False):
                text.stylize(_STYLE, *element.span())
    return text
