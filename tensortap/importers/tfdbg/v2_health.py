"""tfdbg2's debug modes: what each leaves of a tensor, as a summary (TensorFlow's debug_event.proto)."""

from __future__ import annotations

import math

import numpy as np

from tensortap.core.dtypes import Array, Floats
from tensortap.core.records import COUNTS, Summary
from tensortap.tfproto.tensor_proto import data_type_name

from ..errors import RefusedError
from ..partial_summary import measured_numbers, partial_summary

NO_TENSOR, CURT_HEALTH, CONCISE_HEALTH, FULL_HEALTH, SHAPE, FULL_TENSOR, THREE_SLOTS = 1, 2, 3, 4, 5, 7, 8

NOTES = {
    NO_TENSOR: "tfdbg's mode NO_TENSOR keeps nothing of the tensors: only graphs and source lines are shown.",
    CURT_HEALTH: "tfdbg's mode CURT_HEALTH says only whether a tensor has a NaN or infinity: one that has is "
    "shown with one NaN and nothing else, one that has none without. All else is not known.",
    CONCISE_HEALTH: "tfdbg's mode CONCISE_HEALTH counts elements, NaN and infinities only: zeros, signs, "
    "shapes, statistics and histograms are not known.",
    FULL_HEALTH: "tfdbg's mode FULL_HEALTH counts elements by kind only: shapes, statistics and histograms "
    "are not known.",
    SHAPE: "tfdbg's mode SHAPE keeps dtypes and shapes only.",
    THREE_SLOTS: "tfdbg's mode REDUCE_INF_NAN_THREE_SLOTS says only whether a tensor has -Inf, +Inf or NaN: "
    "it is shown with one of each that it has.",
}
_SIGNS = ("zero", "negative", "positive", "subnormal")
NOT_COUNTED = {
    CURT_HEALTH: ("size", *_SIGNS, "nonfinite"),
    CONCISE_HEALTH: _SIGNS,
    FULL_HEALTH: ("subnormal",),
    SHAPE: COUNTS,
    THREE_SLOTS: ("size", *_SIGNS),
}
_LENGTHS = {CURT_HEALTH: 2, CONCISE_HEALTH: 5, FULL_HEALTH: 11, SHAPE: 10, THREE_SLOTS: 3}


def health_summary(mode: int, payload: Array) -> Summary:
    """The summary that a payload (a vector of floats) amounts to.

    Raises:
        RefusedError: the mode has no payload, or this one makes no sense.
    """
    numbers = measured_numbers(payload, "Its health")
    length = _LENGTHS.get(mode)
    if length is None or numbers.size != length:
        raise RefusedError(f"Its debug mode {mode} has no summary, or a damaged one.")
    if mode == CURT_HEALTH:
        bad = int(numbers[1] != 0)
        return partial_summary("float32", (bad,), bad, nan=bad)
    if mode == THREE_SLOTS:
        neg_inf, pos_inf, nan = (int(number != 0) for number in numbers)
        size = neg_inf + pos_inf + nan
        return partial_summary("float32", (size,), size, neg_inf=neg_inf, pos_inf=pos_inf, nan=nan)
    if mode == CONCISE_HEALTH:
        size, neg_inf, pos_inf, nan = _counts(numbers[1:])
        return partial_summary("float32", (size,), size, neg_inf=neg_inf, pos_inf=pos_inf, nan=nan)
    if mode == FULL_HEALTH:
        size, neg_inf, pos_inf, nan, negative, zero, positive = _counts(numbers[4:])
        counts = {"neg_inf": neg_inf, "pos_inf": pos_inf, "nan": nan}
        signs = {"negative": negative, "zero": zero, "positive": positive}
        return partial_summary(_dtype(numbers[2]), (size,), size, **counts, **signs)
    return _shape(numbers)


def _shape(numbers: Floats) -> Summary:
    """[id, dtype, rank, size, 6 extents]: of a rank above 6 the first extents are missing."""
    rank, size, *extents = _counts(numbers[2:])
    shape = tuple(extents[:rank])
    if rank > len(extents) or math.prod(shape) != size:
        shape = (size,)
    return partial_summary(_dtype(numbers[1]), shape, size)


def _counts(numbers: Floats) -> tuple[int, ...]:
    if not np.all((numbers >= 0) & (numbers < 2**53)):
        raise RefusedError("Its counts make no sense.")
    return tuple(int(number) for number in numbers)


def _dtype(number: float) -> str:
    name = data_type_name(int(number)) if 0 < number < 200 else "unknown"
    if name in ("string", "resource", "variant", "invalid", "unknown"):
        raise RefusedError(f"Its dtype {name} has no numbers.")
    return name
