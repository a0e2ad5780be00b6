"""Slices of stored text: (size + 1) int64 offsets, then the bytes."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from tensortap.core.dtypes import Array
from tensortap.core.errors import DamagedError

from .selection import Selection
from .slices import GAP, ReadBytes, check_limit, read_selected

_OFFSET = np.dtype("<i8")


def read_selected_strings(
    read: ReadBytes, shape: Sequence[int], selection: Selection, stored: int, limit: int | None
) -> Array:
    """Reads the selected elements of a string array: their offsets, then the text between these.

    Args:
        stored: bytes of the whole value.
        limit: the most bytes the texts may have together, and their offsets.

    Raises:
        DamagedError: the offsets make no sense. LimitError: see `limit`.
    """
    base = (math.prod(shape) + 1) * _OFFSET.itemsize
    if base > stored:
        raise DamagedError("A string value is shorter than its offsets.")
    check_limit(selection.size * _OFFSET.itemsize, limit, stored)
    starts = read_selected(read, _OFFSET, shape, selection)
    stops = read_selected(lambda at, length: read(at + _OFFSET.itemsize, length), _OFFSET, shape, selection)
    if starts.size and not (starts.min() >= 0 and (starts <= stops).all() and stops.max() <= stored - base):
        raise DamagedError("The offsets of a string value do not ascend to its end.")
    size = int((stops - starts).sum())
    if size > stored - base:  # texts that overlap, which would take more memory than there are bytes
        raise DamagedError("The texts of a string value overlap.")
    check_limit(size, limit, stored)
    texts = np.empty(starts.size, object)
    for group in _close_together(starts.ravel(), stops.ravel()):
        first, last = int(starts.ravel()[group].min()), int(stops.ravel()[group].max())
        data = read(base + first, last - first)
        for i in group.tolist():
            texts[i] = data[starts.ravel()[i] - first : stops.ravel()[i] - first]
    return texts.reshape(selection.shape)


def _close_together(starts: Array, stops: Array) -> list[Array]:
    """Positions grouped so that each group can be read at once without reading much in between."""
    order = np.argsort(starts, kind="stable")
    edges = np.flatnonzero(starts[order][1:] - stops[order][:-1] > GAP) + 1
    return np.split(order, edges) if len(order) else []
