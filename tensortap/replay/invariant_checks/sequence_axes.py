"""The axis of positions in a step's tensors: whether there is one, and what tensors hold at some of them."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from tensortap.core.dtypes import Array
from tensortap.core.errors import NotFoundError

from ..run.node_selection import SelectedNodes


def cut_axes(array: Array, extent: int, selected: slice) -> Array:
    """Of each axis with `extent` elements those that are kept.

    Which axis counts the positions cannot be seen: scores of attention [batch, query, key] have two, and what
    a later mask hides in the second depends on all of the sequence. So all are cut.
    """
    return array[tuple(selected if each == extent else slice(None) for each in array.shape)]


def unpadded(array: Array, mask: Array) -> Array:
    """The elements, flat, of an array [batch, time, …] that belong to padded positions along no axis with as
    many elements as there are positions; `mask`, bool [batch, time], says which are padding. Of as many
    samples as positions the array may as well be [time, batch, …]."""
    batch, length = mask.shape
    selected = np.ones(array.shape, np.bool_)
    for samples in (0, 1) if batch == length else (0,):
        for axis in set(range(array.ndim)) - {samples}:
            if array.shape[axis] == length:
                shape = [1] * array.ndim
                shape[samples], shape[axis] = batch, length
                selected &= ~(mask if samples < axis else mask.T).reshape(shape)
    return np.asarray(array[selected])


_FORWARDING = frozenset({"IteratorGetNext", "OptionalGetValue", "Identity", "Cast"})


def require_sequences(chosen: SelectedNodes, tensors: Iterable[str], batch: int, length: int) -> None:
    """Looks at what the step computes of its inputs [batch, length, …].

    Args:
        looked: tensors with such a shape.

    Raises:
        NotFoundError: a convolution runs over the second axis as the height of an image, or nothing that is
            computed has such an axis.
    """
    for operation in chosen.operations.values():
        if operation.type == "Conv2D":
            image, kernel = (
                tensor.shape.as_list() if tensor.shape.rank else [] for tensor in operation.inputs
            )
            is_image = image[1:2] == [length] and image[0] in (batch, None)
            if is_image and kernel[:1] not in ([], [1], [None]):
                raise NotFoundError(
                    f"The step was given images, not sequences: {operation.name} convolves over the"
                    f" {length} rows.",
                    "This test needs inputs [batch, time, …].",
                )
    if all(chosen.candidates[name].op_type in _FORWARDING for name in tensors):
        raise NotFoundError(
            f"Nothing in the step is a sequence: nothing that it computes has an axis of {length} positions.",
            "This test needs inputs [batch, time, …] whose positions stay apart.",
        )
