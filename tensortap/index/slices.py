"""Slices of stored values: which bytes a selection needs, read and put together."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tensortap.core.dtypes import Array
from tensortap.core.errors import DamagedError, LimitError
from tensortap.core.slice_selection import Axis, Selection

ReadBytes = Callable[[int, int], bytes | memoryview]
ReadInto = Callable[[int, Array], None]

_OFFSET = np.dtype("<i8")  # of a text in a string value
# One more read costs as much as reading this many more bytes from the page cache (some 10 us at 5 GB/s).
GAP = 64 * 1024
# No read is longer, so that a column of a huge matrix needs little memory.
BLOCK = 8 * 1024 * 1024


def read_selected(
    read: ReadBytes,
    dtype: np.dtype[Any],
    shape: Sequence[int],
    selection: Selection,
    gap: int = GAP,
    read_into: ReadInto | None = None,
) -> Array:
    """Reads the selected elements of a C-contiguous array.

    Args:
        read: returns the bytes `[start, start + length)` of the array.
        gap: ranges at most this many bytes apart are read as one.
        read_into: fills a uint8 array with the bytes from `start` on; used where nothing between is skipped.

    Returns:
        A new array of `selection.shape`.
    """
    ascending = [_ascending(axis) for axis in selection.axes]
    result = np.empty([axis.count for axis in ascending], dtype)
    if result.size:
        _Reader.plan(read, read_into, dtype, shape, ascending, gap).fill(0, 0, result)
    flip = tuple(slice(None, None, -1 if axis.step < 0 else 1) for axis in selection.axes)
    turned = result[flip] if any(axis.step < 0 for axis in selection.axes) else result
    return turned.reshape(selection.shape)


def _ascending(axis: Axis) -> Axis:
    if axis.step > 0:
        return axis
    return Axis(axis.start + (axis.count - 1) * axis.step, -axis.step, axis.count, axis.keep)


@dataclass(frozen=True, slots=True)
class _Reader:
    """Fills a result dimension by dimension; all lengths are in elements.

    `counts`: selected elements of each dimension. `offset`: of the first selected element. `strides`: between
    two selected ones along a dimension. `spans[d]`: from the first to the last selected element of dimensions
    d and up, both included. From dimension `dense` on, gaps are small enough to be read along.
    """

    read: ReadBytes
    read_into: ReadInto | None
    dtype: np.dtype[Any]
    counts: tuple[int, ...]
    offset: int
    strides: tuple[int, ...]
    spans: tuple[int, ...]
    dense: int

    @staticmethod
    def plan(
        read: ReadBytes,
        read_into: ReadInto | None,
        dtype: np.dtype[Any],
        shape: Sequence[int],
        axes: Sequence[Axis],
        gap: int,
    ) -> _Reader:
        dims = len(shape)
        steps = [math.prod(shape[d + 1 :]) for d in range(dims)]
        strides = [axis.step * step for axis, step in zip(axes, steps, strict=True)]
        spans = [1] * (dims + 1)
        for d in range(dims - 1, -1, -1):
            spans[d] = spans[d + 1] + (axes[d].count - 1) * strides[d]
        dense = dims
        while dense and (
            axes[dense - 1].count == 1 or (strides[dense - 1] - spans[dense]) * dtype.itemsize <= gap
        ):
            dense -= 1
        offset = sum(axis.start * step for axis, step in zip(axes, steps, strict=True))
        counts = tuple(axis.count for axis in axes)
        return _Reader(read, read_into, dtype, counts, offset, tuple(strides), tuple(spans), dense)

    def fill(self, dim: int, first: int, out: Array) -> None:
        """Reads dimensions from `dim` up into `out`, from `first` elements after the offset."""
        limit = max(BLOCK // self.dtype.itemsize, 1)
        if dim >= self.dense and self.spans[dim] <= limit:
            self._read_span(dim, first, out)
            return
        together = 1
        if dim >= self.dense and self.spans[dim + 1] <= limit:
            together = 1 + (limit - self.spans[dim + 1]) // self.strides[dim]
        for i in range(0, self.counts[dim], together):
            at = first + i * self.strides[dim]
            if together > 1:
                self._read_span(dim, at, out[i : i + together])
            else:
                self.fill(dim + 1, at, out[i : i + 1].reshape(out.shape[1:]))

    def _read_span(self, dim: int, first: int, out: Array) -> None:
        size = self.dtype.itemsize
        span = self.spans[dim]
        if out.ndim:
            span -= (self.counts[dim] - len(out)) * self.strides[dim]
        start = (self.offset + first) * size
        if self.read_into is not None and span == out.size and out.flags.c_contiguous:
            self.read_into(start, out.reshape(-1).view(np.uint8))
            return
        raw = self.read(start, span * size)
        strides = [stride * size for stride in self.strides[dim:]]
        out[...] = np.ndarray(out.shape, self.dtype, raw, strides=strides)


def check_limit(size: int, limit: int | None, whole: int) -> None:
    """Refuses a result of more than `limit` bytes.

    Raises:
        LimitError: with the limit, the requested size, and the size of the whole value.
    """
    if limit is not None and size > limit:
        raise LimitError(
            f"The slice is {size} bytes; the limit is {limit}.",
            f"The whole value is {whole} bytes; select a part, such as '0,:,10:20' or '::4'.",
        )


def read_selected_strings(
    read: ReadBytes, shape: Sequence[int], selection: Selection, stored: int, limit: int | None
) -> Array:
    """Reads the selected elements of a string array: their offsets, then the text between these.

    Args:
        stored: bytes of the whole value.
        limit: the most bytes the texts may have together, and their offsets.

    Raises:
        DamagedError: the offsets are invalid. LimitError: see `limit`.
    """
    base = (math.prod(shape) + 1) * _OFFSET.itemsize
    if base > stored:
        raise DamagedError("A string value is shorter than its offsets.")
    check_limit(selection.size * _OFFSET.itemsize, limit, stored)
    starts = read_selected(read, _OFFSET, shape, selection)
    stops = read_selected(lambda at, length: read(at + _OFFSET.itemsize, length), _OFFSET, shape, selection)
    if starts.size and not (starts.min() >= 0 and (starts <= stops).all() and stops.max() <= stored - base):
        raise DamagedError("The offsets of a string value are not ascending.")
    size = int((stops - starts).sum())
    if size > stored - base:  # texts that overlap, which would take more memory than there are bytes
        raise DamagedError("The texts of a string value overlap.")
    check_limit(size, limit, stored)
    texts = np.empty(starts.size, object)
    for group in _close_together(starts.ravel(), stops.ravel()):
        first, last = int(starts.ravel()[group].min()), int(stops.ravel()[group].max())
        data = read(base + first, last - first)
        for i in group.tolist():
            texts[i] = bytes(data[starts.ravel()[i] - first : stops.ravel()[i] - first])
    return texts.reshape(selection.shape)


def _close_together(starts: Array, stops: Array) -> list[Array]:
    """Positions grouped so that each group can be read at once without reading much in between."""
    order = np.argsort(starts, kind="stable")
    edges = np.flatnonzero(starts[order][1:] - stops[order][:-1] > GAP) + 1
    return np.split(order, edges) if len(order) else []
