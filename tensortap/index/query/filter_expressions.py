"""Conditions on snapshots as trees: numbers and texts of rows, compared and joined."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tensortap.core.deadline import check_time_limit
from tensortap.core.dtypes import Array, Mask
from tensortap.core.errors import SelectionError

FitsTexts = Callable[[Sequence[str]], Mask]

ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.divide,
}
COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "=": operator.eq,
    "!=": operator.ne,
}
_SUMS = {"inf": ("pos_inf", "neg_inf"), "nonfinite": ("nan", "pos_inf", "neg_inf")}


class FilterColumns(Protocol):
    """Columns that a condition may name."""

    def number(self, field: str) -> Array:
        """A numeric column, one element a row."""

    def text(self, field: str, fits: FitsTexts) -> Mask:
        """The rows with a matching text; `fits` is called once with all distinct texts."""

    def unknown(self, field: str) -> Mask | None:
        """The rows without a known number; None if all are known."""


class Numeric(Protocol):
    """One number per row, or one for all rows."""

    def values(self, rows: FilterColumns) -> Any:
        """float64 or integers, [rows] or scalar."""

    def fields(self) -> Iterator[str]:
        """The columns it is computed from."""


class RowCondition(Protocol):
    """True, false or unknown a row: a comparison with a number that is unknown is neither."""

    def mask(self, rows: FilterColumns, truth: bool = True) -> Mask:
        """Which rows are known to fulfil it, or with `truth=False` not to, bool [rows]."""


@dataclass(frozen=True, slots=True)
class Number:
    value: float

    def values(self, rows: FilterColumns) -> Any:
        return self.value

    def fields(self) -> Iterator[str]:
        return iter(())


@dataclass(frozen=True, slots=True)
class Field:
    """A statistic; `inf` and `nonfinite` are sums of counts."""

    name: str

    def values(self, rows: FilterColumns) -> Any:
        first, *others = _SUMS.get(self.name, (self.name,))
        total = rows.number(first)
        for other in others:
            total = total.astype(np.int64) + rows.number(other)
        return total

    def fields(self) -> Iterator[str]:
        return iter(_SUMS.get(self.name, (self.name,)))


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """Two numbers, added, subtracted, multiplied or divided in float64 (so a count never wraps)."""

    operation: str
    left: Numeric
    right: Numeric

    def values(self, rows: FilterColumns) -> Any:
        left, right = np.float64(self.left.values(rows)), np.float64(self.right.values(rows))
        with np.errstate(all="ignore"):
            return ARITHMETIC[self.operation](left, right)

    def fields(self) -> Iterator[str]:
        yield from self.left.fields()
        yield from self.right.fields()


@dataclass(frozen=True, slots=True)
class NumberComparison:
    """Two numbers compared; NaN is unequal to everything."""

    comparison: str
    left: Numeric
    right: Numeric

    def mask(self, rows: FilterColumns, truth: bool = True) -> Mask:
        result: Mask = np.asarray(
            COMPARISONS[self.comparison](self.left.values(rows), self.right.values(rows))
        )
        result = result if result.ndim else np.broadcast_to(result, rows.number("step").shape)
        result = result if truth else ~result
        for field in {*self.left.fields(), *self.right.fields()}:
            unknown = rows.unknown(field)
            result = result if unknown is None else result & ~unknown
        return result


@dataclass(frozen=True, slots=True)
class TextComparison:
    """A text that equals (`==`), differs (`!=`), contains a match of a pattern (`~`) or does not (`!~`)."""

    field: str
    comparison: str
    text: str

    def mask(self, rows: FilterColumns, truth: bool = True) -> Mask:
        found = rows.text(self.field, self._fits)
        return ~found if self.comparison.startswith("!") == truth else found

    def _fits(self, texts: Sequence[str]) -> Mask:
        if self.comparison.endswith("~"):
            return match_names(self.text, texts)
        return np.fromiter((text == self.text for text in texts), np.bool_, len(texts))


@dataclass(frozen=True, slots=True)
class Both:
    left: RowCondition
    right: RowCondition

    def mask(self, rows: FilterColumns, truth: bool = True) -> Mask:
        left, right = self.left.mask(rows, truth), self.right.mask(rows, truth)
        return left & right if truth else left | right


@dataclass(frozen=True, slots=True)
class Either:
    left: RowCondition
    right: RowCondition

    def mask(self, rows: FilterColumns, truth: bool = True) -> Mask:
        left, right = self.left.mask(rows, truth), self.right.mask(rows, truth)
        return left | right if truth else left & right


@dataclass(frozen=True, slots=True)
class Not:
    inner: RowCondition

    def mask(self, rows: FilterColumns, truth: bool = True) -> Mask:
        return self.inner.mask(rows, not truth)


MAX_PATTERN = 500
# Bytes of names between looks at the clock: the worst patterns take 50 µs for each of them.
_NAME_BYTES_PER_TIME_CHECK = 16 << 10


def match_names(pattern: str, names: Sequence[str]) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Which names contain a match of the pattern (RE2 syntax: no look-around, no back references).

    Raises:
        SelectionError: the pattern is too long, or RE2 refuses it.
        LimitError: the time of `time_limit` is over.
    """
    if len(pattern) > MAX_PATTERN:
        raise SelectionError(f"The pattern is longer than {MAX_PATTERN} characters.", "Use a shorter one.")
    try:
        found = [
            pc.match_substring_regex(piece, pattern).to_numpy(zero_copy_only=False)
            for piece in _pieces(names)
        ]
    except pa.ArrowInvalid as error:
        raise SelectionError(
            f"{pattern!r} is not a regular expression: {_reason(error)}.",
            "The syntax is RE2's; escape special characters with a backslash.",
        ) from error
    return np.concatenate([np.zeros(0, np.bool_), *found]).astype(np.bool_)


def _pieces(names: Sequence[str]) -> Iterator[Any]:
    """The names as arrays of Arrow, each as long as may be matched without a look at the clock."""
    array = pa.array(names, pa.string())
    piece = np.cumsum(pc.binary_length(array).to_numpy(), dtype=np.int64) // _NAME_BYTES_PER_TIME_CHECK
    starts = [0, *(np.flatnonzero(np.diff(piece)) + 1).tolist()]
    for start, stop in zip(starts, [*starts[1:], len(array)], strict=True):
        check_time_limit()
        yield array[start:stop]


def _reason(error: Exception) -> str:
    return str(error).removeprefix("Invalid regular expression: ").strip().rstrip(".")
