"""Event files that `tensortap export` wrote: each event is a snapshot again, not eight tensors."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from tensortap.core.dtypes import Floats
from tensortap.core.records import Summary
from tensortap.tfproto.proto_classes import Message

from ..errors import RefusedError
from ..partial_summary import histogram_summary, partial_summary

WRITER = "tensortap"  # in `source_metadata` of a file's first event
_MARK = "/nonfinite"  # every snapshot's last scalar
_BAD = ("nan", "pos_inf", "neg_inf")
_MAX_COUNT = float(1 << 53)
_TINY = 5e-324  # right of the bucket of zeros

Buckets = tuple[Floats, Floats, Floats, dict[str, float]]


def is_own(event: Message) -> bool:
    """Whether the first event of a file says that tensortap exported it."""
    return bool(event.source_metadata.writer == WRITER)


def histogram_of(event: Message) -> Message | None:
    """The histogram of an event, if it has one."""
    found = [value.histo for value in event.summary.value if value.WhichOneof("value") == "histo"]
    return found[0] if found else None


def tensor_of(event: Message) -> str:
    """The tensor that an event is about; empty if it does not say."""
    tags = [value.tag for value in event.summary.value if value.tag.endswith(_MARK)]
    return tags[-1].removesuffix(_MARK) if tags else ""


def summary_of(event: Message, tensor: str, buckets: Buckets | None) -> Summary:
    """The summary of an event: its counts, and its statistics from `buckets`, those of its histogram.

    Raises:
        RefusedError: a count makes no sense, or nothing was counted.
    """
    scalars = {
        value.tag.removeprefix(f"{tensor}/"): value.simple_value
        for value in event.summary.value
        if value.WhichOneof("value") == "simple_value"
    }
    bad: dict[str, Any] = {name: _count(scalars.get(name, 0.0)) for name in _BAD}
    if buckets is None:
        known = partial_summary("float64", (), 0)
    else:
        left, right, counts, exact = buckets
        zeros = right == _TINY
        exact |= {"std": scalars["std"]} if math.isfinite(scalars.get("std", math.nan)) else {}
        known = histogram_summary(np.where(zeros, 0, left), np.where(zeros, 0, right), counts, **exact)
    size = known.size + sum(bad.values())
    if not size:
        raise RefusedError("It is text or empty: an event file tells no more of it.")
    return replace(known, size=size, shape=(size,), **bad)


def _count(value: float) -> int:
    if not 0 <= value < _MAX_COUNT:
        raise RefusedError(f"A count of {value} makes no sense.")
    return int(value)
