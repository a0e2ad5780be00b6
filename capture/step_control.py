"""What happens at the boundaries of a tap's steps."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from .guard import Guard
from .step_capture import Outlet, StepCapture
from .watch import Watch


class StepControl:
    """Begins and ends the steps of a tap, and stands for it where captures are told apart.

    Args:
        watches: what it keeps, until that is changed.
        embeds_sources, exact: as `Tap` takes them (`sources`, `exact`).
    """

    def __init__(
        self,
        outlet: Outlet,
        watches: Sequence[Watch],
        guard: Guard,
        *,
        embeds_sources: bool,
        exact: bool,
    ) -> None:
        self._outlet = outlet
        self._guard = guard
        self._embeds_sources = embeds_sources
        self._exact = exact
        self.watches = tuple(watches)

    def begin(self, first: int, count: int, known_layers: Collection[str]) -> StepCapture | None:
        """`count` steps in one call, numbered from `first`; None if nothing of them is captured."""
        steps = range(first, first + count)
        written = tuple(watch for watch in self.watches if self._wants(watch, steps))
        watches, plan = self._guard.extend(written, self.watches, steps)
        recordings = self._outlet.recordings
        records = recordings is not None and recordings.wants(steps)
        if not watches and not records:
            return None
        if watches:
            self._outlet.background.start()
        capture = StepCapture(
            self, self._outlet, first, watches, known_layers, self._embeds_sources, self._exact, records
        )
        capture.plan = plan
        return capture

    def end(self, first: int, capture: StepCapture | None, error: BaseException | None = None) -> None:
        """The steps from `first` have run, or raised `error`.

        Raises:
            TrainingStoppedError: a trigger of the tap fired, and training is to be stopped.
        """
        if capture is not None:
            self._guard.end_step(self._outlet.background, first, error)

    def _wants(self, watch: Watch, steps: range) -> bool:
        try:
            return any(watch.wants_step(step) for step in steps)
        except Exception as error:
            self._outlet.trouble.tell(
                "steps", f"{watch!r} failed", "Correct steps=; nothing is captured.", error
            )
            return False
