"""The part of a tensor that belongs to some samples or positions, along all of its axes."""

from __future__ import annotations

import numpy as np

from tensortap.core.dtypes import Array


def cut(array: Array, extent: int, kept: slice) -> Array:
    """Of each axis with `extent` elements those that are kept.

    Which axis counts the positions cannot be seen: scores of attention [batch, query, key] have two, and what
    a later mask hides in the second depends on all of the sequence. So all are cut.
    """
    return array[tuple(kept if each == extent else slice(None) for each in array.shape)]


def unpadded(array: Array, mask: Array) -> Array:
    """The elements, flat, of an array [batch, time, …] that belong to padded positions along no axis with as
    many elements as there are positions; `mask`, bool [batch, time], says which are padding. Of as many
    samples as positions the array may as well be [time, batch, …]."""
    batch, length = mask.shape
    kept = np.ones(array.shape, np.bool_)
    for samples in (0, 1) if batch == length else (0,):
        for axis in set(range(array.ndim)) - {samples}:
            if array.shape[axis] == length:
                shape = [1] * array.ndim
                shape[samples], shape[axis] = batch, length
                kept &= ~(mask if samples < axis else mask.T).reshape(shape)
    return np.asarray(array[kept])
