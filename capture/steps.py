"""Which steps a watch keeps: `every(100)`, a range, a collection of numbers, or a callable."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from numbers import Integral
from typing import Any

from .errors import WatchError


@dataclass(frozen=True)
class every:  # noqa: N801  reads as a word: Watch(steps=every(100))
    """Every `interval`-th step from `start` (included) to `stop` (excluded; None: for ever).

    Raises:
        WatchError: `interval` is less than 1, `start` negative, or `stop` no step number.
    """

    interval: int
    start: int = 0
    stop: int | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.interval, Integral) or self.interval < 1:
            raise WatchError(
                f"every({self.interval!r}) has no interval.", "Use a whole number of at least 1."
            )
        if not isinstance(self.start, Integral) or self.start < 0:
            raise WatchError(f"every(…, start={self.start!r}) starts nowhere.", "Steps are numbered from 0.")
        if self.stop is not None and not isinstance(self.stop, Integral):
            raise WatchError(f"every(…, stop={self.stop!r}) ends nowhere.", "Use a step number, or None.")

    def __call__(self, step: int) -> bool:
        """Whether `step` is one of them."""
        inside = step >= self.start and (self.stop is None or step < self.stop)
        return inside and (step - self.start) % self.interval == 0

    def __repr__(self) -> str:
        start = f", start={self.start}" if self.start else ""
        stop = "" if self.stop is None else f", stop={self.stop}"
        return f"every({self.interval}{start}{stop})"


Steps = every | range | int | Collection[int] | Callable[[int], bool]


def step_predicate(steps: Any) -> Callable[[int], bool]:
    """What `Watch.steps` may be, as a predicate. A single int `n` means `every(n)`.

    Raises:
        WatchError: it is none of the accepted kinds, or an empty range or list.
    """
    if isinstance(steps, Integral) and not isinstance(steps, bool):
        return every(int(steps))
    if isinstance(steps, range) and steps:
        return steps.__contains__
    if callable(steps) and not isinstance(steps, type):
        return lambda step: bool(steps(step))
    if isinstance(steps, Collection) and not isinstance(steps, str | bytes):
        numbers = list(steps)
        if numbers and all(isinstance(number, Integral) and int(number) >= 0 for number in numbers):
            return frozenset(int(number) for number in numbers).__contains__
    raise WatchError(
        f"steps={steps!r} says no steps.",
        "Use every(100), a range, a list of step numbers from 0, or a callable step -> bool.",
    )
