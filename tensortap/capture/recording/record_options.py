"""What `Tap(record=…)` may be: which steps are recorded, to be run again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ..errors import WatchError
from ..watching.step_schedule import Steps, step_predicate


@dataclass(frozen=True)
class Record:
    """Which steps a tap records: what they need to run again, variables and inputs.

    A recording takes the size of the variables, once; of the next one only what changed is written.

        Record(every(1000))
        Record(on_trigger=True)  # with Tap(…, on=NonFinite()): the failing step and the one before it

    Args:
        steps: as in `Watch`: `every(100)`, a range, step numbers, or a callable; None: those of `on_trigger`.
        keep_last: so many recordings that `steps` asked for stay in the run, and as many that a trigger
            chose; those made before them are removed, with the bytes that only they held. None: all.
        on_trigger: also the step at which a trigger of the tap (`on=`) fires, or which fails, and the steps
            before it. To that end each step is recorded into memory. The calls of `before` + 2 steps are
            held at most (two were not looked at yet), each with all variables before and after it, inputs,
            captured constants, outputs and up to 16 MiB of what the tap captured. In host memory,
            n calls in a row take n + 1 copies of what they change, and none of the rest, which shares its
            buffer; of a model on a GPU all is copied, the variables twice a call. With a slow disk, calls of
            `before` + 3 steps more may wait to be written, up to 16 of a step.
        before: how many steps before the one that fired. One that is entered twice, as by a GAN with
            `with tap.step(n)` for each of its networks, counts as two.

    Raises:
        WatchError: an argument makes no sense.
    """

    steps: Steps | None = None
    keep_last: int | None = None
    on_trigger: bool = False
    before: int = 1
    _wants: Callable[[int], bool] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.on_trigger, bool):
            raise WatchError(
                f"on_trigger={self.on_trigger!r} is neither True nor False.",
                "The trigger itself is given to the tap: Tap(…, record=Record(on_trigger=True), on=…).",
            )
        nothing = self.steps is None and self.on_trigger
        object.__setattr__(self, "_wants", _never if nothing else step_predicate(self.steps))
        if not isinstance(self.before, int) or isinstance(self.before, bool) or self.before < 0:
            raise WatchError(f"before={self.before!r} is no number of steps.", "Use 0 or more.")
        if self.keep_last is not None and (not isinstance(self.keep_last, int) or self.keep_last < 1):
            raise WatchError(f"keep_last={self.keep_last!r} keeps nothing.", "Use a number from 1, or None.")

    def wants_step(self, step: int) -> bool:
        """Whether a step is recorded."""
        return self._wants(step)


def _never(step: int) -> bool:
    return False


def record_of(given: Any) -> Record | None:
    """`Tap(record=…)`: a `Record`, or just its steps.

    Raises:
        WatchError: it is neither.
    """
    return given if given is None or isinstance(given, Record) else Record(given)
