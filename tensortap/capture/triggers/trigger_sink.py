"""Checks every step in the writer thread: calls the trigger, holds steps, writes them when it fires."""

from __future__ import annotations

import threading
from collections.abc import Callable

from ..capture_warnings import OneTimeWarnings
from ..pipeline.messages import Event, Message, StepEnd, StepEntry, TensorBatch
from ..pipeline.writer_thread import Sink
from .firing import Firing, describe
from .flight_recorder import BufferedStep, FlightRecorder, StepBuffer
from .step_summaries import Examined, StepSummaries
from .triggers import Finding, Selector, Trigger, check_finding, parts_of

MAX_FIRINGS = 100  # of one tap: what goes wrong that often is known by then


class TriggerSink:
    """A `Sink` in front of the writing one. Steps are checked when they end, in any order.

    A trigger fires when its condition becomes true, and again only after a step at which it was not. A step
    that raised counts as a firing, too, so that its earlier steps are written.

    Args:
        sink: writes.
        recorder: how many steps are held, and in how much memory.
        report: called with every firing, in the writer thread.
        settle: called with every step that was checked, and why the trigger fired, or an empty text.
    """

    def __init__(
        self,
        sink: Sink,
        trigger: Trigger,
        recorder: FlightRecorder,
        warnings: OneTimeWarnings,
        report: Callable[[StepEntry, Firing], object],
        settle: Callable[[StepEntry, str], object],
        *,
        stops: bool,
    ) -> None:
        self._sink = sink
        self._trigger = trigger
        self._recorder = recorder
        self._warnings = warnings
        self._report = report
        self._settle = settle
        self._stops = stops
        self._ring = StepBuffer(recorder)
        self._open: dict[
            StepEntry, list[TensorBatch]
        ] = {}  # steps that run, in the order of their first tensors
        self._was_true = False
        self._still_written = 0  # steps after the latest firing
        self._firings = 0
        # Parts of the trigger that had nothing to check yet: a loss that is unknown is never a spike.
        self._idle = {repr(part): Selector(part.watches) for part in parts_of(trigger) if part.watches}
        self._has_checked = False

    def prepare(self) -> None:
        self._sink.prepare()

    def write(self, message: Message) -> int:
        entry = None if isinstance(message, Event) else message.entry
        lost = sum(
            self._end_step(each, "") for each in list(self._open) if each.end_lost and each is not entry
        )
        if isinstance(message, StepEnd):
            lost += self._end_step(message.entry, message.error)
        elif isinstance(message, TensorBatch) and message.entry is not None:
            self._open.setdefault(message.entry, []).append(message)
        else:
            lost += self._sink.write(message)
        return lost

    def commit(self) -> None:
        """See `Sink`."""
        self._sink.commit()

    def flush(self, dropped: int) -> int:
        return self._write(self._ring.empty(fired=False)) + self._sink.flush(dropped)

    def close(self, dropped: int) -> int:
        lost = sum(self._end_step(each, "") for each in list(self._open))
        if self._idle and self._has_checked:
            self._warnings.warn(
                "idle",
                f"{' and '.join(self._idle)} found no tensors to check",
                "Specify the tensors: LossSpike(10, tensor='name of the loss') or NonFinite(Watch(…)).",
            )
        return lost + self._write(self._ring.empty(fired=False)) + self._sink.close(dropped)

    def _end_step(self, entry: StepEntry, error: str) -> int:
        """A step is over."""
        step, batches = entry.numbers.start, self._open.pop(entry, [])
        if not entry.numbers:  # Keras requested data after the last batch
            self._settle(entry, "")
            return 0
        held = BufferedStep(step, batches)
        summaries = StepSummaries(
            step,
            [
                Examined(item.candidate, item.visit, item.values, batch.graph.known)
                for batch in batches
                for item in batch.tensors
            ],
        )
        self._has_checked |= not error
        finding = self._check(summaries)
        appeared = finding is not None and not self._was_true
        self._was_true = finding is not None
        if error and not appeared:
            return self._fire(Finding(error), summaries, held, entry, "a failing step")
        if finding is not None and appeared:
            return self._fire(finding, summaries, held, entry, finding.trigger or repr(self._trigger))
        self._settle(entry, "")
        if self._still_written > 0:
            self._still_written -= 1
            return self._write(held.as_held())
        return self._write(self._ring.push(held))

    def _check(self, summaries: StepSummaries) -> Finding | None:
        try:
            candidates = [tensor.candidate for tensor in summaries.tensors] if self._idle else []
            for part in [part for part, looks_at in self._idle.items() if any(map(looks_at, candidates))]:
                del self._idle[part]
            finding = self._trigger.check(summaries)
            if finding is not None:
                check_finding(finding)
            return finding
        except Exception as error:
            self._warnings.warn(
                "trigger",
                f"the trigger {self._trigger!r} failed",
                "Fix the trigger. Training continues.",
                error,
            )
            return None

    def _fire(
        self,
        finding: Finding,
        summaries: StepSummaries,
        held: BufferedStep,
        entry: StepEntry,
        trigger: str,
    ) -> int:
        self._firings += 1
        if self._firings > MAX_FIRINGS:
            self._warnings.warn(
                "firings",
                f"{trigger} fired more than {MAX_FIRINGS} times; later firings are not recorded",
                "Use a trigger that fires less often.",
            )
            self._settle(entry, "")
            return self._write(self._ring.push(held))
        first = self._ring.first_step
        firing = describe(finding, summaries, trigger, first if first is not None else held.step)
        self._still_written = self._recorder.after
        lost = self._write([*self._ring.empty(fired=True), *held.as_held()])
        graph = finding.tensor.graph if finding.tensor is not None else None
        ids = [batch.graph.id for batch in held.batches if batch.graph.known is graph and graph is not None]
        lost += self._sink.write(Event(held.step, "trigger", firing.facts(next(iter(ids), ""), self._stops)))
        self._settle(entry, f"{trigger}: {finding.reason}")
        self._report(entry, firing)
        return lost

    def _write(self, batches: list[TensorBatch]) -> int:
        return sum(self._sink.write(batch) for batch in batches if batch.tensors)


class Firings:
    """Firings so far; the training thread reads, the writer thread adds."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._all: list[Firing] = []
        self._untaken: dict[StepEntry, Firing] = {}
        self._late: set[StepEntry] = set()

    def add(self, entry: StepEntry, firing: Firing) -> None:
        with self._lock:
            self._all.append(firing)
            self._untaken[entry] = firing

    @property
    def all(self) -> tuple[Firing, ...]:
        with self._lock:
            return tuple(self._all)

    def defer(self, entry: StepEntry) -> None:
        """Training continues without the result for a step."""
        with self._lock:
            self._late.add(entry)

    def take(self, entry: StepEntry) -> Firing | None:
        """The firing of a step, or of an earlier one that training did not wait for."""
        with self._lock:
            fired = next((late for late in self._late if late in self._untaken), entry)
            self._late.discard(fired)
            return self._untaken.pop(fired, None)
