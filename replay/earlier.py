"""The recording to look at when a step was given NaN: the last one before it that was not."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from tensortap.dump import find_recordings

from .births import given_non_finite
from .source import is_bundle, open_recording


class Earlier(NamedTuple):
    """A recorded call."""

    step: int
    call: int


def last_finite_before(source: Path) -> Earlier | None:
    """The last recording of the same run before `source` that was given finite numbers.

    Variables that are NaN stay so: it is looked for by halving, and of a thousand recordings ten are read.
    None if there is none, or `source` is a bundle.
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
        if given_non_finite(open_recording(before[middle].path)):
            bad = middle
        else:
            finite = middle
    return Earlier(before[finite].step, before[finite].call) if finite >= 0 else None
