"""What `Tap(record=…)` may be: which steps are recorded, to be run again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from .errors import WatchError
from .steps import Steps, step_predicate


@dataclass(frozen=True)
class Record:
    """Which steps a tap records: what they need to run again, variables and inputs.

    A recording takes the size of the variables, once; of the next one only what changed is written.

    Args:
        steps: as in `Watch`: `every(100)`, a range, step numbers, or a callable.
        keep_last: so many recordings stay in the run, older ones are removed; None: all.

    Raises:
        WatchError: an argument makes no sense.
    """

    steps: Steps
    keep_last: int | None = None
    _wants: Callable[[int], bool] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_wants", step_predicate(self.steps))
        if self.keep_last is not None and (not isinstance(self.keep_last, int) or self.keep_last < 1):
            raise WatchError(f"keep_last={self.keep_last!r} keeps nothing.", "Use a number from 1, or None.")

    def wants_step(self, step: int) -> bool:
        """Whether a step is recorded."""
        return self._wants(step)


def record_of(given: Any) -> Record | None:
    """`Tap(record=…)`: a `Record`, or just its steps.

    Raises:
        WatchError: it is neither.
    """
    return given if given is None or isinstance(given, Record) else Record(given)
