"""State that all steps of a tap share: options, watches, the writer thread, graphs, recordings; its end."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from tensortap.core.names import short_function_name
from tensortap.core.records import CaptureMode, Graph
from tensortap.core.text import counted

from .batch_samples import BatchSamples
from .call_hook import CALL_HOOK
from .capture_warnings import CaptureWarnings, OneTimeWarnings, print_line
from .pipeline.batch_writer import SNAPSHOT_LOSSES
from .pipeline.messages import Event, GraphHandle, StepEntry, TensorBatch, Tensors
from .pipeline.writer_thread import WriterThread
from .place_selection import StepVisits
from .recording.run_recordings import RECORDING_LOSSES, RunRecordings
from .tap_watches import TapWatches
from .tracing.call_links import CallLinks
from .tracing.traced_function import TracedRoot
from .triggers.trigger_control import TriggerControl
from .watching.step_budget import StepBudget
from .watching.watch import Watch
from .watching.watch_file import WatchFile

_MAX_LINKS = 1000  # kinds of steps, by what their calls pass to one another


class StepNumbers:
    """Numbers the steps of a tap. Concurrent threads get different numbers."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.next = 0
        """The number of the next step that is not given one."""

    def claim(self, first: int | None, count: int) -> range:
        """`count` steps begin, numbered from `first`, or from the next number."""
        with self._lock:
            first = self.next if first is None else first
            self.next = first + count
            return range(first, self.next)

    def settle(self, claimed: range, count: int) -> range:
        """Note that `count` of the claimed steps ran; the other numbers are free again if none follow."""
        ran = range(claimed.start, claimed.start + count)
        with self._lock:
            if self.next == claimed.stop:
                self.next = ran.stop
        return ran


@dataclass(frozen=True, slots=True)
class TapOptions:
    """The arguments of a tap that its steps need.

    Attributes:
        run: its name, for warnings.
        close_seconds: how long to wait for pending data.
        budget: the share of the steps' time that capture may take; None: any.
        embeds_sources, exact: as `Tap` takes them (`sources`, `exact`).
        summarizes_on_device: see `Tap` (`summarize`).
    """

    run: str
    close_seconds: float
    budget: float | None = None
    embeds_sources: bool = True
    exact: bool = False
    summarizes_on_device: bool = False


class TapState:
    """One for each tap; outlives it until all that was captured is written (`close`)."""

    def __init__(
        self,
        options: TapOptions,
        watches: Sequence[Watch],
        warnings: OneTimeWarnings,
        writer_thread: WriterThread,
        *,
        watch_file: WatchFile | None = None,
        triggers: TriggerControl | None = None,
        recordings: RunRecordings | None = None,
    ) -> None:
        self.options = options
        self.warnings = warnings
        self.not_captured = CaptureWarnings(warnings, self.put_event)
        self.writer_thread = writer_thread
        self.triggers = triggers
        self.recordings = recordings
        if recordings is not None:
            recordings.note = self.not_captured.note_unrecorded
        self.budget: StepBudget | None = None
        if options.budget is not None:
            skipped = partial(self.not_captured.steps_skipped, options.budget)
            first = partial(self.not_captured.steps_wait, options.budget)
            self.budget = StepBudget(options.budget, skipped, first)
        self.watches = TapWatches(
            watches,
            warnings,
            self.not_captured,
            self.put_event,
            watch_file=watch_file,
            triggers=triggers,
            budget=self.budget,
        )
        self.samples = BatchSamples(warnings)
        self.numbers = StepNumbers()
        self._graphs: dict[tuple[str, CaptureMode], GraphHandle] = {}
        # Visits so far at the latest step: a step that is entered twice continues counting.
        self._visits = -1, StepVisits()
        self._step_links = -1, CallLinks()
        self._links: Any = None  # data flow between the calls of the last step
        self._known_links: dict[Any, int] = {}  # what calls pass to one another -> the step that noted it
        self._uses = 0
        self._is_held = False
        self._lock = threading.RLock()  # a signal handler may close the tap
        self._pid = os.getpid()
        self.closed = False

    # Of steps and functions

    def visits_at(self, step: int) -> StepVisits:
        """Visits at a step so far."""
        if step != self._visits[0]:
            self._visits = step, StepVisits()
        return self._visits[1]

    def graph_of(self, traced: TracedRoot, way: CaptureMode) -> GraphHandle:
        """A function's graph, as of the way in which it is captured."""
        key = traced.root, way
        if key not in self._graphs:
            self._graphs[key] = GraphHandle(lambda: self._make_graph(traced, way))
        return self._graphs[key]

    def _make_graph(self, traced: TracedRoot, way: CaptureMode) -> Graph | None:
        try:
            return replace(traced.graph_for(sources=self.options.embeds_sources), way=way)
        except Exception as error:
            name = short_function_name(traced.root)
            what = f"the graph of the function {name} cannot be recorded"
            self.warnings.warn(f"graph {name}", what, "Its tensors are stored without a graph.", error)
            return None

    # Messages to the writer thread

    def put_event(self, step: int, kind: str, facts: Mapping[str, Any]) -> None:
        """Queue an event for the writer thread."""
        self.writer_thread.put(Event(step, kind, facts))

    def links_at(self, step: int) -> CallLinks:
        """Links between the calls of a step so far; they continue if a step is entered twice."""
        if step != self._step_links[0]:
            self._step_links = step, CallLinks()
        return self._step_links[1]

    def put_links(self, step: int, links: CallLinks) -> None:
        """Writes the links between the calls of a step, unless an earlier step had the same."""
        key, facts = links.as_event()
        if key == self._links or len(self._known_links) == _MAX_LINKS:
            return
        known = self._known_links.setdefault(key, step)
        self._links = key
        self.writer_thread.put(Event(step, "calls", facts if known == step else {"same": known}))

    def put_tensors(
        self, entry: StepEntry, graph: GraphHandle, visits: list[Tensors], *, checked: bool
    ) -> None:
        """Queue tensors of a step, all of one graph, for the writer thread; where `checked`, a trigger
        looks at them first."""
        self.writer_thread.put(
            TensorBatch(entry.numbers.start, time.time(), graph, visits, entry=entry if checked else None)
        )

    # The life of the tap

    def use_call_hook(self) -> None:
        """Installs the call hook for one more use of the tap; no effect once it is closed."""
        with self._lock:
            if not self.closed:
                CALL_HOOK.acquire()
                self._uses += 1

    def hold_call_hook(self) -> None:
        """Installs the call hook until the tap is closed; further calls have no effect."""
        with self._lock:
            if not self._is_held:
                self._is_held = True
                self.use_call_hook()

    def release_call_hook(self) -> None:
        """Undoes one `use_call_hook`; no effect once the tap is closed."""
        with self._lock:
            if self._uses:
                self._uses -= 1
                CALL_HOOK.release()

    def flush(self) -> bool:
        """Wait until all captured tensors are committed. Returns False after `close_seconds`."""
        in_time = self.writer_thread.flush(self.options.close_seconds)
        return self._flush_recordings() and in_time

    def _flush_recordings(self) -> bool:
        return self.recordings is None or self.recordings.flush(self.options.close_seconds)

    def close(self) -> None:
        """Writes the remaining data, closes the files, and reports losses. A second call has no effect."""
        with self._lock:
            if self.closed:
                return
            self.closed = True
            while self._uses:
                self.release_call_hook()
        if os.getpid() == self._pid:  # a forked child writes nothing that its parent does
            self.watches.warn_if_nothing_selected()
            if self.recordings is None:
                self.watches.warn_if_no_step_watched()
        recorded = self._flush_recordings()  # first, because its losses are recorded in the run
        in_time = self.writer_thread.stop(self.options.close_seconds)
        if recorded:
            self._flush_recordings()  # the last choice of a trigger
        self.samples.close()
        if os.getpid() == self._pid:
            self._report_drops(in_time)

    def _report_drops(self, in_time: bool) -> None:
        dropped = self.writer_thread.dropped
        recordings = 0 if self.recordings is None else self.recordings.lost
        if dropped:
            verb = "was" if dropped == 1 else "were"
            kinds = {"snapshot": dropped - recordings, "recording": recordings}
            what = " and ".join(counted(count, kind) for kind, count in kinds.items() if count)
            print_line(f"{what} of run {self.options.run!r} {verb} dropped: {self._drop_reason(in_time)}")

    def _drop_reason(self, in_time: bool) -> str:
        """The main reason for the drops, and the fix."""
        refusal = self.warnings.first_issued(*SNAPSHOT_LOSSES, *RECORDING_LOSSES)
        if refusal and 2 * self.writer_thread.refused >= self.writer_thread.dropped:
            return refusal
        if self.writer_thread.failure:
            return self.writer_thread.failure
        if self.writer_thread.has_no_thread:
            return (
                "no writer thread could be started. Raise the thread limit (ulimit -u, or the "
                "process limit of the container)."
            )
        if not in_time:
            return (
                f"the writer needed more than {self.options.close_seconds:g} s to finish."
                " Watch fewer steps or tensors, or raise Tap(close_seconds=…)."
            )
        return (
            "they arrived faster than they could be written, or did not fit in memory. Watch fewer "
            "steps or tensors, or raise Tap(queue_bytes=…, wait_seconds=…)."
        )
