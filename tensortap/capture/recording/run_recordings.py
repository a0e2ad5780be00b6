"""The recordings of one tap: selects the calls to record, and writes them in a separate thread."""

from __future__ import annotations

import os
import threading
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from tensortap.core.names import short_function_name
from tensortap.core.records import CaptureMode, Graph
from tensortap.dump.format.graphs import write_graph
from tensortap.dump.format.run_files import ensure_run

from ..capture_warnings import OneTimeWarnings
from ..exact.random_draws import UnrecordableError
from ..instrument.tapped_function import TapValues
from ..pipeline.batch_writer import DiskReserve
from ..pipeline.messages import StepEntry
from ..tracing.traced_function import Place, TracedRoot
from .call_recorder import CallRecorder, PendingCall
from .pending_recordings import PendingRecordings, QueuedRecording, TensorHashes
from .record_options import ASKED_FOR, Record, RecordingRetention

RECORDING_LOSSES = ("record disk", "record full")
"""The kinds of warnings that say why recordings are lost, besides the disk's reserve."""

_MAX_WAITING = 2  # steps; each of their calls holds a copy of the variables
_FULL = "earlier ones were still being written (the disk is slow, or steps run side by side)"
_MAX_CALLS = 16  # waiting calls of one step: a step of a GAN has several, and half a step is useless
_MAX_STEPS = 10_000  # whose calls are counted


class StepRecording:
    """A call that is being recorded; see `receivers.PendingRecording`.

    Attributes:
        way: how it is captured.
    """

    def __init__(self, owner: RunRecordings, call: PendingCall, traced: TracedRoot, entry: StepEntry) -> None:
        self._owner, self._call, self._traced, self._entry = owner, call, traced, entry
        self.inputs = call.inputs
        self.draws = call.draws
        self.hashes = TensorHashes({})
        self.way = owner.way

    def expect_draws(self, tapped: bool) -> None:
        self._call.expect_draws(tapped)

    def take(self, values: TapValues) -> None:
        self._owner.take(self._call, self._traced, values)

    def end(self, outputs: Sequence[Any] | None, failure: BaseException | None = None) -> None:
        self._owner.end(self._call, self._traced, self._entry, self.hashes, self.way, outputs, failure)


class RunRecordings:
    """Recordings of a tap. None of its methods raises.

    Args:
        record: which steps.
        reserve: the free space that is left alone; below it recordings are skipped.
        note_lost: called with how many recordings were skipped, whenever some are.
        info: facts for the run, if it is not there yet.
        patience: seconds that training waits for the verdict on an earlier step, if a trigger decides.
        way: how calls are captured, unless a step reports another way; the graph is written as of that way.
        sources: whether the graph embeds the text of user files.
    """

    def __init__(
        self,
        run_dir: Path,
        record: Record,
        warnings: OneTimeWarnings,
        reserve: DiskReserve,
        note_lost: Callable[[int], object],
        patience: float,
        *,
        way: CaptureMode,
        sources: bool,
        info: Mapping[str, Any],
    ) -> None:
        self._run_dir, self._record, self._warnings = run_dir, record, warnings
        self._reserve, self._note_lost = reserve, note_lost
        self.note: Callable[[str], object] = lambda text: None  # why a function is not recorded, for the run
        self.lost = 0  # recordings of requested calls
        self.way: CaptureMode = way
        self._sources = sources
        self._info = dict(info)
        self._held = PendingRecordings(record.before, patience) if record.on_trigger else None
        # Recordings written for a trigger were in memory before.
        self._max_waiting = _MAX_WAITING + (record.before + 1 if record.on_trigger else 0)
        self._recorders: dict[str, CallRecorder | None] = {}
        self._kept = RecordingRetention(run_dir, record.keep_last)
        self._calls: dict[int, int] = {}  # step -> calls recorded so far, of the latest steps
        self._waiting: deque[QueuedRecording] = deque()
        self._changed = threading.Condition()
        self._busy = False
        self._thread: threading.Thread | None = None
        self._pid = os.getpid()
        # by id(), and way; held, lest the id comes back
        self._graphs: dict[tuple[int, CaptureMode], tuple[Graph, str]] = {}

    def wants(self, steps: range) -> bool:
        """Whether one of these steps is recorded, be it into memory."""
        if self._pid != os.getpid():
            return False
        return self._asked_for(steps) or self._held is not None

    def _asked_for(self, steps: range) -> bool:
        """Whether a step is recorded regardless of triggers."""
        try:
            return any(map(self._record.wants_step, steps))
        except Exception as error:
            self._warnings.warn(
                "record steps", "record= failed", "Fix the callable; nothing is recorded.", error
            )
            return False

    def begin(self, traced: TracedRoot, inputs: Sequence[Any], entry: StepEntry) -> StepRecording | None:
        """Starts to record a call; None if it cannot be recorded, or too many recordings wait to be
        written."""
        with self._changed:
            full = self._is_full(entry.numbers.start)
        if full:
            self._warn("record full", f"was not recorded at some steps: {_FULL}", traced)
            if self._asked_for(entry.numbers):
                self._lose()
            return None
        if self._held is not None and not self._held.wait_for_room(entry):
            self._warn("record held", "was not recorded at some steps: the trigger is too slow", traced)
        recorder = self._recorder_of(traced)
        if recorder is None:
            return None
        try:
            return StepRecording(self, recorder.begin(inputs), traced, entry)
        except UnrecordableError as error:
            self._recorders[traced.root] = None
            self._warn(f"record {traced.root}", f"cannot be recorded: {error}", traced)
        except Exception as error:
            self._warn(f"record {traced.root}", "could not be recorded", traced, error)
        return None

    def draws_of(self, traced: TracedRoot) -> Mapping[Place, str]:
        """Tensors that taps must deliver when a function is recorded, and the node that draws each."""
        recorder = self._recorder_of(traced)
        return {} if recorder is None else recorder.draws

    def _recorder_of(self, traced: TracedRoot) -> CallRecorder | None:
        if traced.root not in self._recorders:
            self._recorders[traced.root] = None
            try:
                self._recorders[traced.root] = CallRecorder(traced)
            except UnrecordableError as error:
                self._warn(f"record {traced.root}", f"cannot be recorded: {error}", traced)
            except Exception as error:
                self._warn(f"record {traced.root}", "could not be recorded", traced, error)
        return self._recorders[traced.root]

    def _is_full(self, step: int) -> bool:
        waiting = Counter(item.step for item in self._waiting)
        return waiting[step] >= _MAX_CALLS if step in waiting else len(waiting) >= self._max_waiting

    def take(self, pending: PendingCall, traced: TracedRoot, values: TapValues) -> None:
        """Take the draws of a call that is being recorded."""
        try:
            pending.take(values)
        except Exception as error:
            pending.expect_draws(False)
            self._warn(f"record {traced.root}", "could not be recorded", traced, error)

    def end(
        self,
        pending: PendingCall,
        traced: TracedRoot,
        entry: StepEntry,
        hashes: TensorHashes,
        way: CaptureMode,
        outputs: Sequence[Any] | None,
        failure: BaseException | None = None,
    ) -> None:
        """Passes a recorded call to the writer thread, or holds it until a trigger has checked its step."""
        try:
            call, step = pending.end(outputs, failure), entry.numbers.start
            if call is None:
                return
            reason = f"{ASKED_FOR}{self._record.steps!r}"
            graph = traced.graph_for(sources=self._sources)
            item = QueuedRecording(call, graph, way, step, self._number(step), reason, hashes)
            at_once = self._asked_for(entry.numbers)
            if at_once:
                self._put([item])
            if self._held is not None:
                self._held.hold(entry, item._replace(written=at_once))
        except UnrecordableError as error:
            self._warn(f"record {traced.root}", f"cannot be recorded: {error}", traced)
        except Exception as error:
            self._warn(f"record {traced.root}", "could not be recorded", traced, error)

    def _number(self, step: int) -> int:
        """Number of the next call of a step. If a step is entered again, or was recorded before, counting
        continues."""
        number = self._calls.pop(step, self._kept.calls_before(step))
        self._calls[step] = number + 1
        if len(self._calls) > _MAX_STEPS:
            del self._calls[next(iter(self._calls))]
        return number

    def settle(self, entry: StepEntry, reason: str) -> None:
        """A trigger has checked a step.

        Args:
            reason: why the trigger wants the step recorded; empty if it does not.
        """
        try:
            if self._held is not None:
                self._put(self._held.settle(entry, reason))
        except Exception as error:
            self._warnings.warn(
                "record trigger",
                "a step that a trigger selected could not be recorded",
                "Training continues.",
                error,
            )

    def _put(self, items: Sequence[QueuedRecording]) -> None:
        with self._changed:
            self._waiting += items
            if items:
                self._ensure_thread()
            self._changed.notify_all()

    def _ensure_thread(self) -> None:
        if self._thread is None:
            thread = threading.Thread(target=self._write_all, name="tensortap-recordings", daemon=True)
            with suppress(RuntimeError):  # no more threads: what waits is written by `flush`
                thread.start()
                self._thread = thread

    def flush(self, timeout: float) -> bool:
        """Waits until all is written; False if that takes longer than `timeout` seconds."""
        if self._pid != os.getpid():
            return True
        with self._changed:
            if self._waiting:
                self._ensure_thread()
            alone = bool(self._waiting) and self._thread is None
        while alone and self._waiting:
            self._write_one()
        with self._changed:
            return self._changed.wait_for(lambda: not self._waiting and not self._busy, timeout)

    def _write_all(self) -> None:
        """Ends when nothing waits, so that no idle thread stays behind."""
        while True:
            with self._changed:
                if not self._waiting:
                    self._thread = None
                    return
            self._write_one()

    def _write_one(self) -> None:
        """The next recording that waits."""
        with self._changed:
            if not self._waiting:
                return
            item = self._waiting.popleft()
            self._busy = True
        try:
            self._write(item)
        except Exception as error:
            self._lose()
            self._warnings.warn(
                "record disk", "a recording could not be written", "Training continues.", error
            )
        with self._changed:
            self._busy = False
            self._changed.notify_all()

    def _write(self, item: QueuedRecording) -> None:
        if item.written and self._kept.holds(item.step, item.number, item.reason):
            return
        graph = item.graph
        ensure_run(self._run_dir, self._run_dir.name, self._info)
        if not self._reserve.has_room(self._run_dir):
            self._lose()
            return
        if (id(graph), item.way) not in self._graphs:
            name = write_graph(self._run_dir, replace(graph, way=item.way), "zstd")
            self._graphs[id(graph), item.way] = graph, name
        _, graph_id = self._graphs[id(graph), item.way]
        recording = replace(
            item.call.finished(),
            step=item.step,
            call=item.number,
            graph=graph_id,
            reason=item.reason,
            tensor_hashes=item.hashes.by_name(),
        )
        self._kept.add(recording)

    def _lose(self) -> None:
        with self._changed:
            self.lost += 1
        self._note_lost(1)

    def _warn(self, kind: str, what: str, traced: TracedRoot, error: BaseException | None = None) -> None:
        name = short_function_name(traced.root)
        text = self._warnings.warn(
            kind, f"the function {name} {what}", "It still runs and its tensors are captured.", error
        )
        if text:
            self.note(text)
