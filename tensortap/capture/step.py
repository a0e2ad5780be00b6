"""One step of a tap: captures and records it from begin to end."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from tensortap.core.dtypes import Array
from tensortap.core.names import short_function_name
from tensortap.core.records import CaptureMode

from .capture_warnings import CaptureWarnings
from .instrument.tapped_function import TapValues
from .pipeline.messages import CapturedTensor, GraphHandle, Tensors
from .pipeline.visit_budget import VisitBudget
from .place_selection import StepVisits
from .recording.pending_recordings import TensorHashes
from .recording.run_recordings import StepRecording
from .tap_state import TapState
from .tracing.candidate import Kind
from .tracing.traced_function import Place, TracedRoot
from .triggers.firing import TrainingStoppedError, failure_facts, has_failed
from .watching.selection import Selected
from .watching.step_budget import Level
from .watching.watch import Watch

# What `record=` cannot record, and why.
UNRECORDED_OPS = "ops outside functions", "they cannot be replayed as one call"
UNRECORDED_RUNS = "the runs of a session", "session state cannot be written to a file"


class Step:
    """One step, or those that run in one call. `TapSteps.step` makes it, and ends it.

    It is the `StepReceiver` of the call hook, which gives it what functions compute, and the `StepEntry` of
    the writer thread.

    Args:
        first: its number; counted by the tap if None.
        count: of the steps that run in the call.
        known_layers: layer paths of the model, if known.
        source: the iterator that feeds it, if that is known.
        names: graph names to use for functions, by the functions' short names.
        after: steps that have run. This one belongs to `first`, which ran too: it is captured with the
            watches of `after`; it is not recorded, takes no batch that was noted, and fires no trigger.

    Attributes:
        numbers: of the steps that run.
        watched: the watches that select it, by purpose.
        watches: the watches of all that.
        records: whether its calls are recorded.
        ended, end_lost: see `StepEntry`.
        links: what its calls pass to one another; None where nothing is watched.
        stops_fit: whether a trigger wants Keras' `fit` to return; known when the step has ended.
    """

    def __init__(
        self,
        state: TapState,
        first: int | None,
        count: int,
        known_layers: Collection[str] = (),
        source: Any = None,
        *,
        names: Mapping[str, str] = MappingProxyType({}),
        after: range | None = None,
    ) -> None:
        self._state = state
        self._source = source
        self.names = names
        self._is_extra = first is not None and after is not None
        self.known_layers = tuple(known_layers)
        if first is not None and after is not None:
            self.numbers = range(first, first + count)
            self.watched = state.watches.of_earlier_steps(after)
        else:
            self.numbers = state.numbers.claim(first, count)
            self.watched = state.watches.begin_steps(self.numbers)
            if self.watched.all:
                state.writer_thread.start()
        self._began = None if state.budget is None else state.budget.clock()
        self.watches = self.watched.all
        recordings = None if self._is_extra else state.recordings
        self.records = recordings is not None and recordings.wants(self.numbers)
        self.ended = self.end_lost = self.stops_fit = False
        self._visits = state.visits_at(self.numbers.start) if self.active else StepVisits()
        self._recording: StepRecording | None = None  # of the call that runs
        self._called = False  # whether a function was called that might be recorded
        self._graphs: dict[str, GraphHandle] = {}  # by function, of its captured tensors
        self._budget = VisitBudget(self.warnings.visits_skipped)
        self.links = state.links_at(self.numbers.start) if self.watches else None

    @property
    def owner(self) -> object:
        """Identifies the tap."""
        return self._state

    @property
    def active(self) -> bool:
        """Whether anything of it is captured or recorded."""
        return bool(self.watches) or self.records

    @property
    def visits(self) -> int | None:
        """How many iterations of a loop it stores at most; None: each is needed."""
        return None if self.records else self.watched.visits

    @property
    def exact(self) -> bool:
        """Whether the original function must make the step, and a shadow of it be captured."""
        return self._state.options.exact

    @property
    def summarizes_on_device(self) -> bool:
        """Whether the function itself summarizes tensors of which only the summary is needed."""
        return self._state.options.summarizes_on_device

    @property
    def embeds_sources(self) -> bool:
        """Whether graphs embed the text of user files."""
        return self._state.options.embeds_sources

    @property
    def warnings(self) -> CaptureWarnings:
        """Receives warnings about tensors that cannot be captured."""
        return self._state.not_captured

    def ran(self, count: int) -> None:
        """Only `count` of the steps ran, because the data ended."""
        self.numbers = self._state.numbers.settle(self.numbers, count)

    def end(self, error: BaseException | None = None) -> None:
        """The steps have run, or raised `error`.

        Raises:
            TrainingStoppedError: a trigger of the tap fired and stops training.
        """
        self._safely("", self._deliver_waiting)
        self._safely("", lambda: self._note_end(error))
        if error is not None and has_failed(error):
            self._safely(
                "", lambda: self._state.put_event(self.numbers.start, "raised", failure_facts(error))
            )
        self.ended = True
        self._safely("", lambda: self._check_triggers(error))

    def _note_end(self, error: BaseException | None) -> None:
        """Notes what the step cost, which samples fed it, and what its calls passed to one another."""
        state, first = self._state, self.numbers.start
        if state.budget is not None and self._began is not None and error is None:
            seconds = state.budget.clock() - self._began
            level: Level = "" if not self.watches else "roles" if self.watched.only_roles else "all"
            state.budget.note(seconds, state.writer_thread.busy, level=level)
        if not self._is_extra:
            for number, facts in state.samples.take(first, len(self.numbers), self._source):
                state.put_event(number, "batch", facts)
        if self.links is not None and self.links.only_loose_ops and error is None:
            state.watches.note_only_eager()
        idle = self.links is not None and self.links.is_empty
        if self.links is not None and self.numbers and error is None:
            state.watches.note_ran(idle=idle)
        if self.links is not None and self.links.any_call:
            state.put_links(first, self.links)
        if self.records and not self._called and error is None and self.numbers and not idle:
            self.leave_unrecorded(*UNRECORDED_OPS)

    def _check_triggers(self, error: BaseException | None) -> None:
        state = self._state
        if state.triggers is not None and self.active and not self._is_extra:
            self.stops_fit = state.triggers.check(state.writer_thread, self, error)

    # What functions compute

    def take(self, traced: TracedRoot, values: TapValues, way: CaptureMode) -> None:
        """Captures the selected tensors of a call of a function, which ran in place or in a shadow."""
        self._safely(traced.root, lambda: self._take(traced, values, way))

    def _take(self, traced: TracedRoot, values: TapValues, way: CaptureMode) -> None:
        selection = self._state.watches.select(traced, self.watched)
        visits = self._visits.of(traced)
        graph = self._state.graph_of(traced, way)
        if self._recording is not None:
            self._recording.way = way
        delivered: list[Tensors] = []
        for places, arrays, skipped, _ in values:
            if arrays is None:
                selection.count_skipped(visits, places, skipped)
                continue
            caught = selection.take(visits, places, arrays, skipped)
            if caught:
                self._graphs[traced.root] = graph
                if self._recording is not None:
                    self._recording.hashes.add(caught)
                delivered.append(self._budget.add(graph, (traced.root, places[0], len(places)), caught))
        self.put(graph, delivered)

    def _deliver_waiting(self) -> None:
        """Delivers the visits that waited for the end of the step."""
        for graph, tensors in self._budget.end():
            self.put(graph, [tensors])

    def called(self, function: str, inputs: Sequence[Any], outputs: Sequence[Any] | None) -> None:
        """A call of a function returned."""
        links, graph = self.links, self._graphs.get(function)
        if links is not None:
            self._safely(function, lambda: links.called(function, graph, inputs, outputs))

    def take_runs(
        self,
        key: str,
        graph: GraphHandle,
        groups: Iterable[tuple[Mapping[Any, Selected], Mapping[Any, Sequence[Any]]]],
    ) -> None:
        """Captures the tensors of a session run.

        Args:
            key: identifies a kind of run; visits of one kind are counted through the step.
            groups: the selected tensors, with their values by visit; None for a visit without a value.
        """
        visits = self._visits.runs[key]
        delivered: list[Tensors] = []
        for selection, values in groups:
            for tensor, chosen in selection.items():
                place = "", chosen.candidate.node, chosen.candidate.slot
                for value in values.get(tensor, ()):
                    if value is not None:
                        array = _as_array(value)
                        handling = chosen.handling or chosen.handle(array.size)
                        if handling is not None:
                            caught = [CapturedTensor(chosen.candidate, visits[place], array, handling)]
                            delivered.append(self._budget.add(graph, (key, place), caught))
                    visits[place] += 1
        self._safely(key, lambda: self.put(graph, delivered))

    def put(self, graph: GraphHandle, visits: list[Tensors]) -> None:
        """Passes captured tensors of one graph, if there are any, to the writer thread."""
        if any(map(len, visits)):
            self._state.put_tensors(self, graph, visits, checked=not self._is_extra)

    def drop(self, count: int) -> None:
        """Counts tensors that were selected but could not be captured."""
        self._state.writer_thread.drop(count)

    def nothing_selected(self, traced: TracedRoot) -> None:
        """Note that nothing of a function is selected."""
        kinds = {candidate.kind for candidate in traced.candidates.values()}
        op_types = {candidate.op_type for candidate in traced.candidates.values()}
        self._state.watches.note_unselected(short_function_name(traced.root), kinds, op_types)

    def note_selection(
        self, name: str, selected: bool, kinds: Collection[Kind] = (), op_types: Collection[str] = ()
    ) -> None:
        """Note whether anything of a session or of eager code is selected; `kinds` and `op_types` are those
        known there."""
        if selected:
            self._state.watches.note_selected()
        else:
            self._state.watches.note_unselected(name, kinds, op_types)

    # Recordings

    def begin_recording(self, traced: TracedRoot, inputs: Sequence[Any]) -> StepRecording | None:
        """Starts to record a call of a function."""
        recordings = self._state.recordings
        if recordings is None or not self.records:
            return None
        self._called = True
        self._recording = recordings.begin(traced, inputs, self)
        if self._recording is not None:
            self._safely(traced.root, lambda: self._count_visits_from(traced))
        return self._recording

    def _count_visits_from(self, traced: TracedRoot) -> None:
        """Renumbers visits: recordings count them within a call, steps across calls."""
        visits = self._visits.of(traced)
        if visits.any() and self._recording is not None:
            selection = self._state.watches.select(traced, self.watched)
            self._recording.hashes = TensorHashes(selection.visits_by_name(visits))

    @property
    def possible_watches(self) -> Sequence[Watch]:
        """The watches that any step of the tap may have."""
        return self._state.watches.possible

    def leave_unrecorded(self, what: str, why: str) -> None:
        """The step runs a call that cannot be recorded: warns about it."""
        self._called = True
        self.warnings.unrecorded(what, why, "Calls of a tf.function are recorded.")

    def draws_of(self, traced: TracedRoot) -> Mapping[Place, str]:
        """Tensors that taps must deliver of a function when it is recorded, and the node that draws each."""
        return {} if self._state.recordings is None else self._state.recordings.draws_of(traced)

    def _safely(self, function: str, action: Callable[[], None]) -> None:
        """Acts for a function that ran; for the step, where it is empty."""
        try:
            action()
        except TrainingStoppedError:
            raise
        except Exception as error:
            what = "ran, but its tensors could not be stored"
            if function:
                self.warnings.function_failed(function, what, error)
            else:
                self.warnings.warn("end", f"a step {what}", "Training continues.", error)


def _as_array(value: Any) -> Array:
    """A session's result as an array; text comes as bytes."""
    return np.array(value, dtype=object) if isinstance(value, bytes | str) else np.asarray(value)
