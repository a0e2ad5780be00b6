"""Selections (`0,:,10:20`): parsed from text or from Python's own indexing, resolved against a shape."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Sequence
from dataclasses import dataclass
from types import EllipsisType

from .errors import SelectionError

MAX_TEXT = 1000  # a selection names at most a few numbers for each of at most 64 dimensions
_INTEGER = re.compile(r"[+-]?[0-9]{1,18}\Z")
_HINT = "Use one part per dimension, separated by commas: '0', ':', '10:20', '::2', '-1' or '...'."

Item = int | slice | EllipsisType


@dataclass(frozen=True, slots=True)
class Axis:
    """`count` elements of one dimension: `start`, `start + step`, …; `keep`: the dimension stays."""

    start: int
    step: int
    count: int
    keep: bool


@dataclass(frozen=True, slots=True)
class Selection:
    """A selection that fits a shape: one axis a dimension. `text` is its canonical spelling."""

    text: str
    axes: tuple[Axis, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the result; dimensions indexed by an integer are dropped."""
        return tuple(axis.count for axis in self.axes if axis.keep)

    @property
    def size(self) -> int:
        """Number of elements selected."""
        return math.prod(axis.count for axis in self.axes)


def resolve_selection(selection: object, shape: Sequence[int]) -> Selection:
    """Fits a selection to a shape, with NumPy's rules for negative indices, steps, integers and `...`.

    Args:
        selection: text (`"0,:,10:20"`), or what `array[…]` takes: an integer, a slice, `...`, or a tuple of
            those.

    Raises:
        SelectionError: it cannot be parsed, has too many parts, or an index is outside its dimension.
    """
    if any(length < 0 for length in shape):  # a damaged or made-up dump
        raise SelectionError("The shape has a negative number, so no slice can be selected.")
    items = parse_selection(selection) if isinstance(selection, str) else _from_python(selection)
    parts = _expand(items, len(shape))
    pairs = enumerate(zip(parts, shape, strict=True))
    axes = tuple(_axis(part, length, dim) for dim, (part, length) in pairs)
    return Selection(",".join(map(_spell, parts)), axes)


def parse_selection(text: str) -> tuple[Item, ...]:
    """Parses `"0,:,10:20"` into `(0, slice(None), slice(10, 20))`; an empty text selects everything.

    Raises:
        SelectionError: a part is neither an integer, a slice nor `...`.
    """
    if len(text) > MAX_TEXT:
        raise SelectionError(f"The selection is longer than {MAX_TEXT} characters.", _HINT)
    text = text.strip()
    if text.startswith("[") and text.endswith("]"):
        text = text[1:-1].strip()
    return tuple(_parse_part(part.strip()) for part in text.split(",")) if text else ()


def _parse_part(part: str) -> Item:
    if part == "...":
        return ...
    if ":" not in part:
        return _integer(part) if part else slice(None)
    bounds = [_integer(bound) if bound else None for bound in (b.strip() for b in part.split(":"))]
    if len(bounds) > 3:
        raise SelectionError(f"{part!r} has more than two colons.", _HINT)
    if len(bounds) == 3 and bounds[2] == 0:
        raise SelectionError(f"The step of {part!r} is zero.", "Use a positive or negative step.")
    return slice(*bounds)


def _integer(text: str) -> int:
    if not _INTEGER.match(text):
        raise SelectionError(f"{text[:40]!r} is not an index.", _HINT)
    return int(text)


def _from_python(selection: object) -> tuple[Item, ...]:
    return tuple(_check_item(item) for item in (selection if isinstance(selection, tuple) else (selection,)))


def _check_item(item: object) -> Item:
    if item is ...:
        return ...
    if isinstance(item, slice):
        bounds = (None if b is None else _as_index(b) for b in (item.start, item.stop, item.step))
        checked = slice(*bounds)
        if checked.step == 0:
            raise SelectionError("The step of a slice is zero.", "Use a positive or negative step.")
        return checked
    return _as_index(item)


def _as_index(item: object) -> int:
    if not isinstance(item, bool):
        try:
            return operator.index(item)  # type: ignore[arg-type]  # it is the check: anything with __index__
        except TypeError:
            pass
    raise SelectionError(
        f"A selection cannot contain a {type(item).__name__}.",
        "Use integers, slices and '...'; for other indexing, read the array with np.asarray(…) first.",
    )


def _expand(items: Sequence[Item], dims: int) -> list[Item]:
    ellipses = sum(item is ... for item in items)
    if ellipses > 1:
        raise SelectionError("A selection can contain '...' only once.", _HINT)
    given = len(items) - ellipses
    if given > dims:
        raise SelectionError(f"The selection has {given} parts; the tensor has {dims} dimensions.", _HINT)
    fill: list[Item] = [slice(None)] * (dims - given)
    at = next((i for i, item in enumerate(items) if item is ...), len(items))
    return [*items[:at], *fill, *items[at + 1 :]]


def _axis(item: Item, length: int, dim: int) -> Axis:
    if isinstance(item, int):
        if not -length <= item < length:
            raise SelectionError(
                f"Index {item} is outside dimension {dim}, which has {length} elements.",
                f"Use {-length} to {length - 1}." if length else "It has no elements to select.",
            )
        return Axis(item % length, 1, 1, keep=False)
    assert isinstance(item, slice)
    indices = range(*item.indices(length))
    return Axis(indices.start, indices.step, len(indices), keep=True)


def _spell(item: Item) -> str:
    if not isinstance(item, slice):
        return str(item)
    start, stop = ("" if bound is None else str(bound) for bound in (item.start, item.stop))
    return f"{start}:{stop}" + ("" if item.step in (None, 1) else f":{item.step}")
