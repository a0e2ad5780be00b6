"""Looks at every step in the writer's thread: asks the trigger, holds steps, writes them when it fires."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable

from .background import Sink
from .examined import Examined, StepSummaries
from .firing import Firing, describe
from .flight_recorder import FlightRecorder, HeldStep, Ring
from .snapshots import Batch, Entry, Event, GraphHandle
from .triggers import Finding, Selector, Trigger, check_finding, parts_of
from .trouble import Trouble

MAX_FIRINGS = 100  # of one tap: what goes wrong that often is known by then


class TriggerSink:
    """A `Sink` in front of the one that writes.

    A trigger fires when its condition becomes true, and again only after a step at which it was not. A step
    whose code raised counts as a firing, too, so that what led to it is written.

    Args:
        sink: writes.
        recorder: how many steps are held, and in how much memory.
        report: is told of every firing, in the writer's thread.
        settle: is told of every step that was looked at and is recorded, and why the trigger fired, or an
            empty text.
    """

    def __init__(
        self,
        sink: Sink,
        trigger: Trigger,
        recorder: FlightRecorder,
        trouble: Trouble,
        report: Callable[[Firing], None],
        settle: Callable[[Entry, str], None],
        *,
        stops: bool,
    ) -> None:
        self._sink = sink
        self._trigger = trigger
        self._recorder = recorder
        self._trouble = trouble
        self._report = report
        self._settle = settle
        self._stops = stops
        self._ring = Ring(recorder)
        self._current: list[Batch] = []
        self._was_true = False
        self._still_written = 0  # steps after the latest firing
        self._firings = 0
        # Parts of the trigger that had nothing to look at yet: a loss that is not known is never a spike.
        self._idle = {repr(part): Selector(part.watches) for part in parts_of(trigger) if part.watches}
        self._has_looked = False

    def prepare(self) -> None:
        self._sink.prepare()

    def write(self, batch: Batch) -> int:
        lost = 0
        if self._current and batch.step != self._current[0].step:
            lost += self._end_step(self._current[0], "")  # its end was dropped for want of room
        if batch.captured:
            self._current.append(batch)
        elif batch.event is not None:
            lost += self._sink.write(batch)
        if batch.end is not None:
            lost += self._end_step(batch, batch.end.error)
            batch.end.examined.set()
        return lost

    def flush(self, dropped: int) -> int:
        return self._write(self._ring.empty(fired=False)) + self._sink.flush(dropped)

    def close(self, dropped: int) -> int:
        lost = self._end_step(self._current[0], "") if self._current else 0
        if self._idle and self._has_looked:
            self._trouble.tell(
                "idle",
                f"{' and '.join(self._idle)} had nothing to look at in any step",
                "Say which tensors: LossSpike(10, tensor='name of the loss'), NonFinite(Watch(…)).",
            )
        return lost + self._write(self._ring.empty(fired=False)) + self._sink.close(dropped)

    def _end_step(self, batch: Batch, error: str) -> int:
        """A step is over, of which this is one batch."""
        step, entry = batch.step, batch.entry
        batches, self._current = self._current, []
        held = HeldStep(step, batches)
        summaries = StepSummaries(
            step,
            [
                Examined(item.candidate, item.visit, item.array, batch.graph.known)
                for batch in batches
                for item in batch.captured
            ],
        )
        self._has_looked |= not error
        finding = self._check(summaries)
        appeared = finding is not None and not self._was_true
        self._was_true = finding is not None
        if error and not appeared:
            return self._fire(Finding(error), summaries, held, entry, "a failing step")
        if finding is not None and appeared:
            return self._fire(finding, summaries, held, entry, finding.trigger or repr(self._trigger))
        self._settled(entry, "")
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
            self._trouble.tell(
                "trigger", f"the trigger {self._trigger!r} failed", "Correct it. Training goes on.", error
            )
            return None

    def _settled(self, entry: Entry | None, reason: str) -> None:
        if entry is not None:
            self._settle(entry, reason)

    def _fire(
        self,
        finding: Finding,
        summaries: StepSummaries,
        held: HeldStep,
        entry: Entry | None,
        trigger: str,
    ) -> int:
        self._firings += 1
        if self._firings > MAX_FIRINGS:
            self._trouble.tell(
                "firings",
                f"{trigger} fired more than {MAX_FIRINGS} times; later firings are not recorded",
                "A trigger that is true less often tells more.",
            )
            self._settled(entry, "")
            return self._write(self._ring.push(held))
        first = self._ring.first_step
        firing = describe(finding, summaries, trigger, first if first is not None else held.step)
        self._still_written = self._recorder.after
        lost = self._write([*self._ring.empty(fired=True), *held.as_held()])
        graph = finding.tensor.graph if finding.tensor is not None else None
        ids = [batch.graph.id for batch in held.batches if batch.graph.known is graph and graph is not None]
        event = Event("trigger", firing.facts(next(iter(ids), ""), self._stops))
        lost += self._sink.write(Batch(held.step, 0.0, GraphHandle(None), deque(), 0, event=event))
        self._settled(entry, f"{trigger}: {finding.reason}")
        self._report(firing)
        return lost

    def _write(self, batches: list[Batch]) -> int:
        return sum(self._sink.write(batch) for batch in batches if batch.captured)


class Firings:
    """What has fired so far; the training thread reads, the writer's thread adds."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._all: list[Firing] = []
        self._taken = 0

    def add(self, firing: Firing) -> None:
        with self._lock:
            self._all.append(firing)

    @property
    def all(self) -> tuple[Firing, ...]:
        with self._lock:
            return tuple(self._all)

    def take_new(self) -> Firing | None:
        """The first that was not taken yet."""
        with self._lock:
            new = self._all[self._taken :]
            self._taken = len(self._all)
            return new[0] if new else None
