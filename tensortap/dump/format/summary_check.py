"""Checks a summary that a program made itself: what a reader would refuse is not written.

A reader that meets one impossible number skips the whole commit, with the snapshots around it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tensortap.core.errors import InvalidValueError
from tensortap.core.histogram import BUCKETS, Histogram
from tensortap.core.model import COUNTS, STATISTICS, Summary

from .places import check_text, whole_number

MAX_RANK = 254  # extents of a shape: TensorFlow's limit


def check_summary(summary: Summary) -> Summary:
    """Returns the summary if every reader takes it. Raises InvalidValueError."""
    check_text("dtype", summary.dtype)
    if len(summary.shape) > MAX_RANK:
        raise InvalidValueError(
            f"A shape of {len(summary.shape)} extents is not possible.", f"Use at most {MAX_RANK}."
        )
    for extent in summary.shape:
        whole_number("An extent of the shape", extent, 63)
    for name in ("size", *COUNTS):
        whole_number(name, getattr(summary, name), 63)
    for name in STATISTICS:
        _number(name, getattr(summary, name))
    _check_histogram(summary.histogram)
    return summary


def _number(name: str, value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidValueError(f"{name}={value!r:.80} is no number.", "Use a float.") from error


def _check_histogram(histogram: Histogram) -> None:
    ids, counts = np.asarray(histogram.bucket_id), np.asarray(histogram.bucket_count)
    half = BUCKETS // 2
    whole = ids.dtype.kind in "iu" and counts.dtype.kind in "iu" and ids.ndim == counts.ndim == 1
    if not whole or len(ids) != len(counts):
        raise InvalidValueError("A histogram needs a count for each bucket; both are whole numbers.")
    possible = (ids >= 0) & (ids < BUCKETS) & (ids % half != half - 1)
    if not np.all(possible) or not np.all(np.diff(ids.astype(np.int64)) > 0) or not np.all(counts > 0):
        raise InvalidValueError(
            "A histogram holds a bucket that does not exist, twice, out of order, or empty.",
            "Use ascending ids that FORMAT.md knows, and counts above 0.",
        )
