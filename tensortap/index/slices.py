"""Slices of stored arrays: which byte ranges a selection needs, read and put together."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tensortap.core.dtypes import Array
from tensortap.core.errors import LimitError

from .selection import Axis, Selection

ReadBytes = Callable[[int, int], bytes]

# One more read costs as much as reading this many more bytes from the page cache (some 10 us at 5 GB/s).
GAP = 64 * 1024
# No read is longer, so that a column of a huge matrix needs little memory.
BLOCK = 8 * 1024 * 1024


def read_selected(
    read: ReadBytes, dtype: np.dtype[Any], shape: Sequence[int], selection: Selection, gap: int = GAP
) -> Array:
    """Reads the selected elements of a C-contiguous array.

    Args:
        read: returns the bytes `[start, start + length)` of the array.
        gap: ranges at most this many bytes apart are read as one.

    Returns:
        A new array of `selection.shape`.
    """
    ascending = [_ascending(axis) for axis in selection.axes]
    result = np.empty([axis.count for axis in ascending], dtype)
    if result.size:
        _Reader.plan(read, dtype, shape, ascending, gap).fill(0, 0, result)
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
    dtype: np.dtype[Any]
    counts: tuple[int, ...]
    offset: int
    strides: tuple[int, ...]
    spans: tuple[int, ...]
    dense: int

    @staticmethod
    def plan(
        read: ReadBytes, dtype: np.dtype[Any], shape: Sequence[int], axes: Sequence[Axis], gap: int
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
        return _Reader(read, dtype, tuple(a.count for a in axes), offset, tuple(strides), tuple(spans), dense)

    def fill(self, dim: int, first: int, out: Array) -> None:
        """Reads dimensions `dim` and up, beginning `first` elements behind the offset, into `out`."""
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
        raw = self.read((self.offset + first) * size, span * size)
        strides = [stride * size for stride in self.strides[dim:]]
        out[...] = np.ndarray(out.shape, self.dtype, raw, strides=strides)


def check_limit(size: int, limit: int | None, whole: int) -> None:
    """Refuses a result of more than `limit` bytes.

    Raises:
        LimitError: naming the limit, the size asked for, and that of the whole value.
    """
    if limit is not None and size > limit:
        raise LimitError(
            f"The slice has {size} bytes, more than the limit of {limit}.",
            f"The whole value has {whole} bytes; select a part of it, such as '0,:,10:20' or '::4'.",
        )
