"""The recording to look at when a step was given NaN: one before it that was not."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from tensortap.core.errors import TensortapError
from tensortap.dump.recording.files import find_recordings

from ..locate import is_bundle, open_recording
from .nonfinite_nodes import non_finite

_MOST = 50  # recordings of data that are not finite, one after another


class Earlier(NamedTuple):
    """A recorded call."""

    step: int
    call: int


def finite_before(source: Path) -> Earlier | None:
    """A late recording of the same run before `source` that was given finite numbers.

    Variables that are NaN mostly stay so: the last recording of finite ones is looked for by halving, and of
    a thousand recordings ten are read. Data come and go, so from there on the nearest one before whose data
    are finite, too, of at most 50. Where variables became finite again (restored, assigned) a later one may
    be missed. None if none is found, or `source` is a bundle.
    """
    if is_bundle(source):
        return None
    places = find_recordings(source.parent.parent)
    names = [place.path.name for place in places]
    before = places[: names.index(source.name)] if source.name in names else []
    finite, bad = -1, len(before)
    while bad - finite > 1:
        # The one just before it first: a trigger recorded the step at which NaN appeared.
        middle = bad - 1 if bad == len(before) else (finite + bad) // 2
        given = _given(before[middle].path)
        if given is None:
            del before[middle]
            bad -= 1
        elif "variable" in given:
            bad = middle
        else:
            finite = middle
    nearest = reversed(before[max(finite + 1 - _MOST, 0) : finite + 1])
    return next((Earlier(place.step, place.call) for place in nearest if _given(place.path) == set()), None)


def _given(path: Path) -> set[str] | None:
    """The kinds of what a recording was given that was not finite; None if it cannot be read."""
    try:
        arguments = open_recording(path).arguments
    except (TensortapError, OSError):
        return None
    return {argument.kind for argument in arguments if any(map(non_finite, argument.arrays))}
