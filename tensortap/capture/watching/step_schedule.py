"""The steps of a watch or recording: `every(100)`, `log_spaced(10)`, ranges, numbers, or a callable."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Set
from dataclasses import dataclass
from numbers import Integral
from typing import Any

from ..errors import WatchError


@dataclass(frozen=True)
class every:  # noqa: N801  reads as a word: Watch(steps=every(100))
    """Every `interval`-th step from `start` (included) to `stop` (excluded; None: unlimited).

    Example:
        ```python
        tensortap.Watch(steps=tensortap.every(100, start=1000))
        ```

    Raises:
        WatchError: `interval` is less than 1, `start` negative, or `stop` is not a step number.
    """

    interval: int
    start: int = 0
    stop: int | None = None

    def __post_init__(self) -> None:
        if not is_whole_number(self.interval, 1):
            raise WatchError(
                f"every({self.interval!r}) has an invalid interval.", "Use an integer of at least 1."
            )
        if not is_whole_number(self.start):
            raise WatchError(
                f"every(…, start={self.start!r}) has an invalid start.", "Steps are numbered from 0."
            )
        if self.stop is not None and not isinstance(self.stop, Integral):
            raise WatchError(
                f"every(…, stop={self.stop!r}) has an invalid end.", "Use a step number, or None."
            )

    def __call__(self, step: int) -> bool:
        """Whether `step` is one of them."""
        inside = step >= self.start and (self.stop is None or step < self.stop)
        return inside and (step - self.start) % self.interval == 0

    def __repr__(self) -> str:
        start = f", start={self.start}" if self.start else ""
        stop = "" if self.stop is None else f", stop={self.stop}"
        return f"every({self.interval}{start}{stop})"


@dataclass(frozen=True)
class log_spaced:  # noqa: N801  as every
    """Steps at growing intervals: 0, 1, 2, … and then `per_decade` steps per power of ten.

    Those are the steps nearest to `10 ** (k / per_decade)` for whole `k` from 0.

    Example:
        ```python
        tensortap.Watch(steps=tensortap.log_spaced(5))
        ```

    Raises:
        WatchError: `per_decade` is not an integer from 1 to 1000.
    """

    per_decade: int = 10

    def __post_init__(self) -> None:
        if not is_whole_number(self.per_decade, 1) or self.per_decade > 1000:
            raise WatchError(
                f"log_spaced({self.per_decade!r}) has no steps.", "Use an integer from 1 to 1000."
            )

    def __call__(self, step: int) -> bool:
        """Whether `step` is one of them."""
        if step <= 1:
            return step >= 0
        k = round(self.per_decade * math.log10(step))
        return step in (round(10 ** (near / self.per_decade)) for near in (k - 1, k, k + 1))

    def __repr__(self) -> str:
        return f"log_spaced({self.per_decade})"


Steps = every | log_spaced | range | int | Collection[Any] | Callable[[int], bool]


def plain_steps(steps: Any) -> Any:
    """A normal form: `every(n)` for `n`, a tuple for a collection (a set in order), and the single element of
    a collection if it means several steps. All else is returned unchanged."""
    if isinstance(steps, Integral) and not isinstance(steps, bool):
        return every(int(steps))
    if callable(steps) or not isinstance(steps, Collection) or isinstance(steps, str | bytes | range):
        return steps
    parts = tuple(sorted(steps, key=_first)) if isinstance(steps, Set) else tuple(steps)
    return parts[0] if len(parts) == 1 and isinstance(parts[0], range | every | log_spaced) else parts


def _first(part: Any) -> int:
    return int(part) if isinstance(part, Integral) else 0


def step_predicate(steps: Any, argument: str = "steps") -> Callable[[int], bool]:
    """`Watch.steps` as a predicate. A single int `n` means `every(n)`; a collection may contain step numbers,
    ranges, `every(…)` and `log_spaced(…)`, and means their union.

    Args:
        argument: its name in the error.

    Raises:
        WatchError: it is not one of the accepted kinds, or an empty range or list.
    """
    if isinstance(steps, Integral) and not isinstance(steps, bool):
        return every(int(steps))
    if isinstance(steps, range) and steps:
        return steps.__contains__
    if callable(steps) and not isinstance(steps, type):
        return lambda step: bool(steps(step))
    if isinstance(steps, Collection) and not isinstance(steps, str | bytes | range):
        parts = list(steps)
        spans = [part for part in parts if isinstance(part, range | every | log_spaced)]
        numbers = [part for part in parts if is_whole_number(part)]
        if parts and len(numbers) + len(spans) == len(parts) and all(map(_not_empty, spans)):
            return _any_of(frozenset(map(int, numbers)), [step_predicate(span) for span in spans])
    raise WatchError(
        f"Invalid step selection {argument}={steps!r}.",
        "Use every(100), log_spaced(10), a range, a list of these or of step numbers from 0,"
        " or a callable step -> bool.",
    )


def is_whole_number(value: Any, least: int = 0) -> bool:
    """Whether a value is an integer of at least `least`, and not a bool."""
    return isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= least


def _not_empty(span: range | every | log_spaced) -> bool:
    return not isinstance(span, range) or len(span) > 0


def _any_of(numbers: frozenset[int], spans: list[Callable[[int], bool]]) -> Callable[[int], bool]:
    return lambda step: step in numbers or any(span(step) for span in spans)
