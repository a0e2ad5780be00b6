"""Ranges of steps: `7`, `3:10`, `3:` (the end is not included)."""

from __future__ import annotations

import operator
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tensortap.core.errors import NotFoundError, SelectionError
from tensortap.core.text import counted

_RANGE = re.compile(r"\s*(?:(\d{1,18})|(\d{1,18})?\s*:\s*(\d{1,18})?)\s*\Z")
_END = 2**63 - 1


@dataclass(frozen=True, slots=True)
class StepRange:
    """The steps `first <= step < stop`."""

    first: int = 0
    stop: int = _END

    @property
    def everything(self) -> bool:
        """Whether all steps are included."""
        return self.first == 0 and self.stop == _END

    def of(self, steps: np.ndarray[Any, np.dtype[Any]]) -> np.ndarray[Any, np.dtype[Any]]:
        """The steps of an array within the range."""
        return steps if self.everything else steps[(steps >= self.first) & (steps < self.stop)]


def parse_steps(steps: object) -> StepRange:
    """Parses a range of steps: None (all), an integer, text as above, a slice, a range, or a pair.

    Raises:
        SelectionError: it is not one of these, or has a step width other than 1.
    """
    match steps:
        case None:
            return StepRange()
        case StepRange():
            return steps
        case str():
            return _from_text(steps)
        case slice() | range():
            if steps.step not in (None, 1):
                raise SelectionError("A range of steps cannot have a stride.", "Remove the stride.")
            return _between(steps.start, steps.stop)
        case (first, stop):
            return _between(first, stop)
    try:
        step = operator.index(steps)  # type: ignore[arg-type]  # it is the check: anything with __index__
    except TypeError:
        raise _unreadable(repr(steps)) from None
    return StepRange(step, step + 1)


def step_from_end(whose: str, steps: Sequence[int], at: int) -> int:
    """The step that a negative `at` selects from ascending steps.

    Raises:
        NotFoundError: there are fewer steps.
    """
    if not 0 < -at <= len(steps):
        raise NotFoundError(f"{whose} has fewer than {-at} steps.", f"It has {counted(len(steps), 'step')}.")
    return int(steps[at])


def _from_text(text: str) -> StepRange:
    match = _RANGE.match(text) if len(text) <= 80 else None
    if match is None:
        raise _unreadable(repr(text[:80]))
    single, first, stop = match.groups()
    return parse_steps(int(single)) if single else _between(first and int(first), stop and int(stop))


def _between(first: object, stop: object) -> StepRange:
    try:
        return StepRange(
            0 if first is None else operator.index(first),  # type: ignore[arg-type]  # as above
            _END if stop is None else operator.index(stop),  # type: ignore[arg-type]
        )
    except TypeError:
        raise _unreadable(f"{first!r}:{stop!r}") from None


def _unreadable(what: str) -> SelectionError:
    return SelectionError(f"{what} is not a range of steps.", "Write '7', '3:10', '3:' or ':10'.")
