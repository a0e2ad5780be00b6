"""Splits the difference of two tensors into the part that a node received and the part that it introduces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tensortap.core.dtypes import Array

from ..execution.float_arrays import largest_finite, masked_in_both


@dataclass(frozen=True, slots=True)
class Split:
    """Errors of one tensor over all its visits. Each number is an L2 norm divided by that of the tensor or of
    its reference, whichever is larger, so 1 means that no digit is right. Numbers that a mask put into both
    are not counted.

    Attributes:
        total: how far the tensor is from its reference; infinite if a number is finite in one of them only.
        inherited: error of the reference's node when it runs with the inputs of the tensor's node.
        introduced: how far the tensor is from that. `total` is at most `inherited + introduced`.
        introduced_non_finite: elements that became NaN or infinite here; the reference's node computes finite
            numbers from the same inputs.
        visits: how many were compared.
    """

    total: float
    inherited: float
    introduced: float
    introduced_non_finite: int
    visits: int


def split_error(
    tensor: Sequence[Array], reference: Sequence[Array], between: Sequence[Array] | None
) -> Split | None:
    """Splits the difference of a tensor, given as its visits.

    Args:
        between: output of the reference's node for the tensor's inputs; None for a node without inputs,
            where all of the difference is introduced.

    Returns:
        None if shapes or the numbers of visits differ.
    """
    middle = reference if between is None else between
    if not len(tensor) == len(reference) == len(middle):
        return None
    sums = np.zeros(5)
    count = 0
    for one, other, there in zip(tensor, reference, middle, strict=True):
        if not one.shape == other.shape == there.shape:
            return None
        a, b, c = _beside_masks(one, other, there)
        sums += [_square(a, b), _square(c, b), _square(a, c), _size(a), _size(b)]
        count += int((~np.isfinite(a) & np.isfinite(c)).sum())
    total, inherited, introduced = (_relative(each, max(sums[3:])) for each in sums[:3])
    return Split(total, inherited, introduced, count, len(tensor))


def _beside_masks(one: Array, other: Array, there: Array) -> list[Array]:
    a, b, c = (each.astype(np.float64) for each in (one, other, there))
    most = largest_finite(one, other, there)
    hidden = masked_in_both(a, b, most) & masked_in_both(c, b, most)
    return [np.where(hidden, 0.0, each) for each in (a, b, c)]


def _square(one: Array, other: Array) -> float:
    """Sum of squared differences; equal NaN or infinities count as no difference."""
    with np.errstate(all="ignore"):
        same = (one == other) | (np.isnan(one) & np.isnan(other))
        difference = np.where(same, 0.0, one - other)
        return float(np.sum(np.where(np.isnan(difference), np.inf, difference) ** 2))


def _size(array: Array) -> float:
    return float(np.sum(np.where(np.isfinite(array), array, 0.0) ** 2))


def _relative(square: float, reference: float) -> float:
    if square == 0:
        return 0.0
    return float(np.sqrt(square / reference)) if reference else float(np.inf)
