"""Checks of logged names, steps, times, texts and summaries before they become rows."""

from __future__ import annotations

import operator
from functools import lru_cache
from typing import Any, NamedTuple, Protocol

import numpy as np

from tensortap.core.errors import InvalidValueError
from tensortap.core.histogram import BUCKETS, Histogram
from tensortap.core.names import MAX_NAME, parse_tensor_name
from tensortap.core.records import COUNTS, STATISTICS, Keep, Summary
from tensortap.core.sampling import Sample

from .schema import MAX_TIME

_split_known_name = lru_cache(1 << 15)(parse_tensor_name)  # the same names come at every step


def split_name(name: str) -> tuple[str, int]:
    """(node, slot) of a tensor name. Raises InvalidNameError."""
    try:
        return _split_known_name(name)
    except TypeError:  # not hashable: no text
        return parse_tensor_name(name)


class Snapshot(NamedTuple):
    """One tensor of a step, for `DumpWriter.log_many`; the fields are arguments of `DumpWriter.log`."""

    name: str
    array: Any
    visit: int | None = None
    device: str = ""
    keep: Keep = "value"
    sample: Sample | None = None


class LoggedTensor(Protocol):
    """Interface of the snapshots that `DumpWriter.log_many` takes: a `Snapshot`, or any object with these
    attributes."""

    @property
    def name(self) -> str: ...
    @property
    def array(self) -> Any: ...
    @property
    def visit(self) -> int | None: ...
    @property
    def device(self) -> str: ...
    @property
    def keep(self) -> Keep: ...
    @property
    def sample(self) -> Sample | None: ...


class StepPlace(NamedTuple):
    """Fields that snapshots of one step share; `time` is in microseconds since 1970."""

    graph: str
    step: int
    time: int


def check_head(snapshot: LoggedTensor) -> tuple[str, int]:
    """Checks all but the array; (node, slot). Raises InvalidNameError, InvalidValueError."""
    visit = snapshot.visit
    if visit is not None:
        check_visit(visit)
    try:
        return _check_known_head(snapshot.name, snapshot.device, snapshot.keep)
    except TypeError:  # not hashable: no text
        return _check_head(snapshot.name, snapshot.device, snapshot.keep)


def _check_head(name: str, device: str, keep: Keep) -> tuple[str, int]:
    check_text("device", device)
    check_keep(keep)
    return split_name(name)


_check_known_head = lru_cache(1 << 15)(_check_head)


def check_step(step: int, graph: str, time: float) -> StepPlace:
    """Raises InvalidValueError."""
    return StepPlace(check_text("graph", graph), whole_number("step", step, 63), microseconds(time))


def check_text(what: str, text: str) -> str:
    """A text that a row has room for. Raises InvalidValueError."""
    if len(text) > MAX_NAME:
        raise InvalidValueError(f"{what}={text[:80]!r}… is too long.", f"Use at most {MAX_NAME} characters.")
    return text


def check_visit(visit: int | None) -> int | None:
    """Raises InvalidValueError."""
    return None if visit is None else whole_number("visit", visit, 31)


def check_keep(keep: Keep) -> Keep:
    """Raises InvalidValueError."""
    if keep not in ("value", "summary"):
        raise InvalidValueError(f"keep={keep!r} is not valid.", "Use keep='value' or keep='summary'.")
    return keep


def check_info(info: Any) -> dict[str, Any]:
    """The free facts of a run. Raises InvalidValueError."""
    if info is None:
        return {}
    if not isinstance(info, dict) or not all(isinstance(name, str) for name in info):
        raise InvalidValueError(
            f"info={info!r:.80} is not a JSON object.", "Use a dict, e.g. info={'lr': 0.1}."
        )
    return dict(info)


def microseconds(seconds: float) -> int:
    """Converts seconds since 1970 to the microseconds of a row. Raises InvalidValueError."""
    try:
        micros = int(seconds * 1e6)
    except (TypeError, ValueError, OverflowError):
        micros = -1
    if not 0 <= micros <= MAX_TIME:
        raise InvalidValueError(f"time={seconds!r} is not valid.", "Use seconds since 1970.")
    return micros


def whole_number(what: str, value: Any, bits: int) -> int:
    """An integer from 0 to 2^bits - 1. Raises InvalidValueError."""
    try:
        number = -1 if isinstance(value, bool) else operator.index(value)
    except TypeError:
        number = -1
    if not 0 <= number < 1 << bits:
        raise InvalidValueError(f"{what}={value!r} is not valid.", f"Use an integer from 0 to 2^{bits} - 1.")
    return number


MAX_RANK = 254  # extents of a shape: TensorFlow's limit


def check_summary(summary: Summary) -> Summary:
    """Returns the summary if every reader takes it. Raises InvalidValueError."""
    check_text("dtype", summary.dtype)
    if len(summary.shape) > MAX_RANK:
        raise InvalidValueError(
            f"A shape of {len(summary.shape)} dimensions is not valid.", f"Use at most {MAX_RANK}."
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
        raise InvalidValueError(f"{name}={value!r:.80} is not a number.", "Use a float.") from error


def _check_histogram(histogram: Histogram) -> None:
    ids, counts = np.asarray(histogram.bucket_id), np.asarray(histogram.bucket_count)
    half = BUCKETS // 2
    whole = ids.dtype.kind in "iu" and counts.dtype.kind in "iu" and ids.ndim == counts.ndim == 1
    if not whole or len(ids) != len(counts):
        raise InvalidValueError("A histogram needs a count for each bucket; both are integers.")
    possible = (ids >= 0) & (ids < BUCKETS) & (ids % half != half - 1)
    if not np.all(possible) or not np.all(np.diff(ids.astype(np.int64)) > 0) or not np.all(counts > 0):
        raise InvalidValueError(
            "A histogram has an unknown, repeated, unordered or empty bucket.",
            "Use ascending bucket ids from FORMAT.md, and counts above 0.",
        )
