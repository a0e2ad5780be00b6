"""What happens at the boundaries of a tap's steps."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from .adapters.batch_samples import BatchSamples
from .pipeline.messages import Entry
from .step_capture import Outlet, StepCapture
from .triggers.failed_step import failure_facts, has_failed
from .triggers.trigger_control import Guard
from .warnings_once import print_line
from .watch import Watch, shown_rules
from .watch_file import WatchFile, watch_facts


class StepControl:
    """Begins and ends the steps of a tap, and stands for it where captures are told apart.

    Args:
        watches: what it keeps, until that is changed.
        watch_file: asked at the beginning of a step whether it is.
        embeds_sources, exact: as `Tap` takes them (`sources`, `exact`).
    """

    def __init__(
        self,
        outlet: Outlet,
        watches: Sequence[Watch],
        guard: Guard,
        watch_file: WatchFile,
        *,
        embeds_sources: bool,
        exact: bool,
    ) -> None:
        self._outlet = outlet
        self._guard = guard
        self._embeds_sources = embeds_sources
        self._exact = exact
        self.watches = tuple(watches)
        self._watch_file = watch_file
        self._has_begun = False
        self.samples = BatchSamples(outlet.warnings)

    def begin(self, entry: Entry, known_layers: Collection[str]) -> StepCapture | None:
        """Steps begin, in one call; None if nothing of them is captured."""
        steps = entry.steps
        self._look_at_watch_file(steps.start)
        written = tuple(watch for watch in self.watches if self._wants(watch, steps))
        watches, plan = self._guard.extend(written, self.watches, steps)
        recordings = self._outlet.recordings
        entry.records = recordings is not None and recordings.wants(steps)
        self._outlet.note_steps(steps, bool(watches))
        if not watches and not entry.records:
            return None
        if watches:
            self._outlet.writer_thread.start()
        capture = StepCapture(
            self, self._outlet, entry, watches, known_layers, self._embeds_sources, self._exact
        )
        capture.plan = plan
        return capture

    def end(
        self,
        entry: Entry,
        capture: StepCapture | None,
        error: BaseException | None = None,
        *,
        source: Any = None,
    ) -> None:
        """The steps of an entry have run, or raised `error`.

        Args:
            source: the iterator that fed them, if it is known.

        Raises:
            TrainingStoppedError: a trigger of the tap fired, and training is to be stopped.
        """
        steps = entry.steps
        for step, facts in self.samples.take(steps.start, len(steps), source):
            self._outlet.put_event(step, "batch", facts)
        if error is not None and has_failed(error):
            self._outlet.put_event(steps.start, "raised", failure_facts(error))
        if capture is not None:
            self._guard.end_step(self._outlet.writer_thread, entry, error)

    def _look_at_watch_file(self, step: int) -> None:
        if not self._has_begun:
            self._has_begun = True
            self._say_watches(step, "program")
        change = self._watch_file.poll(step)
        if change is None:
            return
        if change.watches is None:
            print_line(change.error)
            self._outlet.put_event(step, "watch", {"error": change.error})
        else:
            self.watches = change.watches
            self._say_watches(step, change.source)

    def _say_watches(self, step: int, source: str) -> None:
        facts = watch_facts(self.watches, shown_rules(self.watches), source=source)
        self._outlet.put_event(step, "watch", facts)

    def _wants(self, watch: Watch, steps: range) -> bool:
        try:
            return any(watch.wants_step(step) for step in steps)
        except Exception as error:
            self._outlet.warnings.warn(
                "steps", f"{watch!r} failed", "Correct steps=; nothing is captured.", error
            )
            return False
