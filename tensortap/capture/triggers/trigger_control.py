"""`Tap(on=…, before=…, stop=…)`: the trigger of a tap, its flight recorder, and how it ends training."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Literal

from ..capture_warnings import OneTimeWarnings, first_line
from ..errors import WatchError
from ..pipeline.messages import StepEnd, StepEntry
from ..pipeline.writer_thread import Sink, WriterThread
from ..watching.selection import StepWatches
from ..watching.step_schedule import every
from ..watching.watch import Watch
from .firing import Firing, TrainingStoppedError, has_failed
from .flight_recorder import FlightRecorder, as_recorder
from .trigger_sink import Firings, TriggerSink
from .triggers import Trigger, as_trigger, watches_of

Stop = bool | Literal["return"]


def trigger_control(
    on: Any,
    before: Any,
    stop: Any,
    *,
    run: str,
    run_dir: str,
    warnings: OneTimeWarnings,
    patience: float,
) -> TriggerControl | None:
    """The trigger of a tap; None without one.

    Args:
        on, before, stop: as `Tap` takes them.
        run, run_dir: name and directory of the run.
        patience: seconds that training waits for the result of a step if the trigger may stop it.

    Raises:
        WatchError: an argument is invalid.
    """
    if on is None and (before is not None or stop is not False):
        name = "stop" if before is None else "before"
        raise WatchError(f"{name}= needs a trigger.", "Add on=NonFinite().")
    if stop not in (True, False, "return"):
        raise WatchError(f"stop={stop!r} is unknown.", "Use True (an error), 'return', or False.")
    if on is None:
        return None
    recorder = FlightRecorder(0) if before is None else as_recorder(before)
    return TriggerControl(as_trigger(on), recorder, stop, run, run_dir, warnings, patience)


class TriggerControl:
    """Controls a trigger: what is captured for it, and how its result ends training.

    Attributes:
        settle: called in the writer thread with each step that was checked, and why the trigger fired, or
            an empty text. Recordings wait for it.
    """

    def __init__(
        self,
        trigger: Trigger,
        recorder: FlightRecorder,
        stop: Stop,
        run: str,
        run_dir: str,
        warnings: OneTimeWarnings,
        patience: float,
    ) -> None:
        self._trigger = trigger
        self._recorder = recorder
        self._stop: Stop = stop
        self._run = run
        self._run_dir = run_dir
        self._warnings = warnings
        self._patience = patience
        self._firings = Firings()
        self.settle: Callable[[StepEntry, str], object] = lambda entry, reason: None

    @property
    def fired(self) -> tuple[Firing, ...]:
        """All firings so far, oldest first."""
        return self._firings.all

    def sink(self, inner: Sink) -> Sink:
        """`inner`, with the trigger in front of it."""
        return TriggerSink(
            inner,
            self._trigger,
            self._recorder,
            self._warnings,
            self._firings.add,
            lambda entry, reason: self.settle(entry, reason),
            stops=self._stop is not False,
        )

    def extend(
        self,
        written: tuple[Watch, ...],
        watched: Sequence[Watch],
        wanting: Callable[[Sequence[Watch]], tuple[Watch, ...]],
    ) -> StepWatches:
        """Extends the watches of steps by those of the trigger and the flight recorder.

        Args:
            written: the watches that want these steps.
            watched: all watches of the tap.
            wanting: those of some watches that want these steps; it never raises.
        """
        examined = wanting(watches_of(self._trigger, tuple(watched)))
        held = wanting(self._recorder.watches) or tuple(
            _as_value(watch) for watch in dict.fromkeys((*written, *examined))
        )
        return StepWatches(written, examined, held)

    def possible_watches(self, watched: Sequence[Watch]) -> tuple[Watch, ...]:
        """Watches of the trigger for any step."""
        return *watches_of(self._trigger, tuple(watched)), *self._recorder.watches

    def check(self, writer_thread: WriterThread, entry: StepEntry, error: BaseException | None) -> bool:
        """Checks a finished step; waits for the result if it may stop training.

        Returns:
            Whether Keras' `fit` is to return.

        Raises:
            TrainingStoppedError: the trigger fired and stops training with an error.
        """
        failed = error is not None and has_failed(error)
        text = f"{type(error).__name__}: {first_line(error)}" if error is not None and failed else ""
        examined = threading.Event()
        if not writer_thread.put(StepEnd(entry, text, examined)):
            entry.end_lost = True
            self.settle(entry, "")  # no trigger will check it
            return False
        if self._stop is False:
            return False
        if error is not None:
            self._firings.defer(entry)
            return False
        if not examined.wait(self._patience):
            self._firings.defer(entry)
            self._warnings.warn(
                "verdict",
                f"step {entry.numbers.start} was not checked within {self._patience:g} s; training "
                "continued without waiting",
                "Watch fewer tensors with the trigger, or raise Tap(close_seconds=…).",
            )
        firing = self._firings.take(entry)
        if firing is not None and self._stop is True:
            raise TrainingStoppedError(firing, self._run, self._run_dir)
        return firing is not None


def _as_value(watch: Watch) -> Watch:
    """The same tensors, as values."""
    return watch if watch.keep == "value" else replace(watch, keep="value", steps=every(1))
