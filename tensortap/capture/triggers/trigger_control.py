"""`Tap(on=…, before=…, stop=…)`: the trigger of a tap, its flight recorder, and how it ends training."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from tensortap.core.model import Way

from ..errors import WatchError
from ..pipeline.disk_reserve import DiskReserve
from ..pipeline.messages import Batch, Entry, GraphHandle, StepEnd
from ..pipeline.writer_thread import Sink, WriterThread
from ..record_options import Record
from ..recording.run_recordings import RunRecordings
from ..steps import every
from ..warnings_once import OneTimeWarnings, first_line
from ..watch import Watch
from .capture_plan import Plan
from .failed_step import has_failed
from .firing import Firing, TrainingStoppedError
from .flight_recorder import FlightRecorder, as_recorder
from .trigger_sink import Firings, TriggerSink
from .triggers import Trigger, as_trigger, watches_of

Stop = bool | Literal["return"]


class Guard:
    """What looks after the steps of a tap; does nothing if it has no trigger.

    Args:
        on, before, stop: as `Tap` takes them.
        run, run_dir: name and directory of the run.
        patience: seconds that training waits for the verdict on a step if it is to be stopped.

    Raises:
        WatchError: an argument makes no sense.
    """

    def __init__(
        self,
        on: Any,
        before: Any,
        stop: Any,
        *,
        run: str,
        run_dir: str,
        warnings: OneTimeWarnings,
        patience: float,
    ) -> None:
        if on is None and (before is not None or stop is not False):
            name = "stop" if before is None else "before"
            raise WatchError(f"{name}= says what happens when a trigger fires.", "Add on=NonFinite().")
        if stop not in (True, False, "return"):
            raise WatchError(f"stop={stop!r} is unknown.", "Use True (an error), 'return', or False.")
        self._trigger: Trigger | None = None if on is None else as_trigger(on)
        self._recorder = FlightRecorder(0) if before is None else as_recorder(before)
        self._stop: Stop = stop
        self._run = run
        self._run_dir = run_dir
        self._warnings = warnings
        self._patience = patience
        self._firings = Firings()
        self._plans: dict[tuple[tuple[Watch, ...], tuple[Watch, ...]], Plan] = {}
        self._recordings: RunRecordings | None = None

    @property
    def fired(self) -> tuple[Firing, ...]:
        """All firings so far, oldest first."""
        return self._firings.all

    def sink(self, inner: Sink) -> Sink:
        """`inner`, with the trigger in front of it if there is one."""
        if self._trigger is None:
            return inner
        stops = self._stop is not False
        return TriggerSink(
            inner,
            self._trigger,
            self._recorder,
            self._warnings,
            self._firings.add,
            self._settled,
            stops=stops,
        )

    def _settled(self, entry: Entry, reason: str) -> None:
        if self._recordings is not None:
            self._recordings.settle(entry, reason)

    def recordings(
        self,
        record: Record | None,
        run_dir: Path,
        reserve: DiskReserve,
        writer_thread: WriterThread,
        *,
        exact: bool,
        sources: bool,
        info: Mapping[str, Any],
    ) -> RunRecordings | None:
        """The recordings of the tap; they are told what the trigger says of each step.

        Raises:
            WatchError: they wait for a trigger, and there is none.
        """
        if record is None:
            return None
        if record.on_trigger and self._trigger is None:
            raise WatchError("Record(on_trigger=True) waits for a trigger.", "Add on=NonFinite().")
        way: Way = "shadow" if exact else "in-place"
        self._recordings = RunRecordings(
            run_dir,
            record,
            self._warnings,
            reserve,
            writer_thread.note_lost,
            self._patience,
            way=way,
            sources=sources,
            info=info,
        )
        return self._recordings

    def extend(
        self, written: tuple[Watch, ...], watched: Sequence[Watch], steps: range
    ) -> tuple[tuple[Watch, ...], Plan | None]:
        """What must be captured at `steps`, and what becomes of it.

        Args:
            written: the watches that want these steps.
            watched: all watches of the tap.
        """
        if self._trigger is None:
            return written, None
        examined = _wanting(watches_of(self._trigger, tuple(watched)), steps)
        held = _wanting(self._recorder.watches, steps) or tuple(
            _whole(watch) for watch in dict.fromkeys((*written, *examined))
        )
        key = written, held
        if key not in self._plans:
            self._plans[key] = Plan(written, held)
        return tuple(dict.fromkeys((*written, *examined, *held))), self._plans[key]

    def end_step(self, writer_thread: WriterThread, entry: Entry, error: BaseException | None) -> None:
        """Has a step looked at.

        Raises:
            TrainingStoppedError: the trigger fired, and training is to be stopped by an error.
        """
        entry.ended = True
        if self._trigger is None:
            return
        text = ""
        if error is not None and has_failed(error):
            text = f"{type(error).__name__}: {first_line(error)}"
        examined = threading.Event()
        step, end = entry.steps.start, StepEnd(text, examined)
        if not writer_thread.put(Batch(step, time.time(), GraphHandle(), deque(), 0, end=end, entry=entry)):
            entry.unheard = True
            self._settled(entry, "")  # nobody will look at it
            return
        if self._stop is False:
            return
        if error is not None:
            self._firings.defer(entry)
            return
        if not examined.wait(self._patience):
            self._firings.defer(entry)
            self._warnings.warn(
                "verdict",
                f"step {step} was not looked at within {self._patience:g} s; training did not wait longer",
                "Watch fewer tensors with the trigger, or raise Tap(close_seconds=…).",
            )
        firing = self._firings.take(entry)
        if firing is not None and self._stop is True:
            raise TrainingStoppedError(firing, self._run, self._run_dir)
        entry.ends_fit = firing is not None


def _wanting(watches: Sequence[Watch], steps: range) -> tuple[Watch, ...]:
    return tuple(watch for watch in watches if any(map(watch.wants_step, steps)))


def _whole(watch: Watch) -> Watch:
    """The same tensors, as values."""
    return watch if watch.keep == "value" else replace(watch, keep="value", steps=every(1))
