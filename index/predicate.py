"""Conditions on snapshots (`nan > 0`, `abs_max >= 1e4 and step < 100`): parsed, never evaluated as code."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tensortap.dump import COUNTS, STATISTICS, SelectionError

MAX_TEXT = 500
FIELDS = ("step", "visit", "size", *COUNTS, *STATISTICS, "inf", "nonfinite")
_SUMS = {"inf": ("pos_inf", "neg_inf"), "nonfinite": ("nan", "pos_inf", "neg_inf")}

_COMPARISON = re.compile(r"\s*([a-z0-9_]{1,20})\s*(<=|>=|==|!=|=|<|>)\s*([-+0-9.a-zA-Z_]{1,40})\s*\Z")
_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "=": operator.eq,
    "!=": operator.ne,
}
_HINT = "Write a statistic, a comparison and a number, as in 'nan > 0' or 'abs_max >= 1e4 and step < 100'."

Mask = np.ndarray[Any, np.dtype[np.bool_]]
ColumnGetter = Callable[[str], "np.ndarray[Any, np.dtype[Any]]"]


@dataclass(frozen=True, slots=True)
class Comparison:
    """`field comparison number`."""

    field: str
    comparison: str
    number: float

    def mask(self, column: ColumnGetter) -> Mask:
        """Which rows fulfil it. `column` returns a numeric column by name."""
        first, *others = _SUMS.get(self.field, (self.field,))
        values = column(first)
        for other in others:
            values = values.astype(np.int64) + column(other)
        result: Mask = _OPERATORS[self.comparison](values, self.number)
        return result


@dataclass(frozen=True, slots=True)
class Predicate:
    """Comparisons joined by `and`, these groups joined by `or`."""

    groups: tuple[tuple[Comparison, ...], ...]

    def mask(self, column: ColumnGetter) -> Mask:
        """Which rows fulfil it."""
        groups = [np.logical_and.reduce([c.mask(column) for c in group]) for group in self.groups]
        found: Mask = np.logical_or.reduce(groups)
        return found


def parse_predicate(text: str) -> Predicate:
    """Reads a condition; `and` binds tighter than `or`, there are no parentheses.

    Raises:
        SelectionError: it cannot be parsed, or names an unknown statistic.
    """
    if len(text) > MAX_TEXT:
        raise SelectionError(f"The condition is longer than {MAX_TEXT} characters.", _HINT)
    groups = re.split(r"\bor\b", text)
    return Predicate(tuple(tuple(map(_comparison, re.split(r"\band\b", group))) for group in groups))


def _comparison(text: str) -> Comparison:
    match = _COMPARISON.match(text)
    if match is None:
        raise SelectionError(f"{text.strip()!r} is not a condition.", _HINT)
    field, comparison, number = match.groups()
    if field not in FIELDS:
        raise SelectionError(f"{field!r} is not a statistic.", f"Use one of {', '.join(FIELDS)}.")
    try:
        value = float(number)
    except ValueError:
        raise SelectionError(f"{number!r} is not a number.", _HINT) from None
    return Comparison(field, comparison, value)
