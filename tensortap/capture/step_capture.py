"""One watched step of one tap: keeps what the watches select and hands it to the writer's thread."""

from __future__ import annotations

import time
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from tensortap.core.model import Graph, Keep, Way
from tensortap.core.names import short_function_name
from tensortap.core.text import counted

from .errors import ChoiceFailedError
from .instrument.tapped_function import TapValues
from .pipeline.messages import Batch, CapturedTensor, Entry, Event, GraphHandle, held_bytes
from .pipeline.writer_thread import WriterThread
from .recording.run_recordings import RunRecordings, StepRecording
from .recording.tensor_hashes import TensorHashes
from .selection import Selected, selected
from .tracing.candidate import Candidate, Kind
from .tracing.traced_function import Place, TracedRoot
from .triggers.capture_plan import Plan
from .warnings_once import OneTimeWarnings
from .watch import Watch

Selection = dict[Place, Selected]

_NAMED = 100  # functions that an event names


@dataclass(eq=False)
class Outlet:
    """What all steps of a tap share: where snapshots go, and what was found out about functions already."""

    writer_thread: WriterThread
    warnings: OneTimeWarnings
    graphs: dict[tuple[str, Way], GraphHandle] = field(default_factory=dict)
    selections: dict[tuple[str, tuple[Watch, ...]], Selection] = field(default_factory=dict)
    recordings: RunRecordings | None = None
    missed: dict[str, set[Kind]] = field(default_factory=dict)  # functions of which nothing was selected
    ran: range = range(0)  # from the first to the last step that ran
    watched: bool = False  # whether one of them was
    # Visits so far at the latest step, by root function: a step that is entered twice goes on counting.
    step: int = -1
    visits: defaultdict[str, Counter[Place]] = field(default_factory=lambda: defaultdict(Counter))

    def visits_of(self, step: int) -> defaultdict[str, Counter[Place]]:
        if step != self.step:
            self.step, self.visits = step, defaultdict(Counter)
        return self.visits

    def put_event(self, step: int, kind: str, facts: Mapping[str, Any]) -> None:
        """Has an event written."""
        batch = Batch(step, time.time(), GraphHandle(), deque(), 0, event=Event(kind, facts))
        self.writer_thread.put(batch)

    def unseen(
        self,
        kind: str,
        message: str,
        hint: str,
        cause: BaseException | None = None,
        functions: Sequence[str] = (),
    ) -> None:
        """Warns of something that is not captured, and has it noted in the run, for those who look there for
        what is missing; `functions` are those inside of which nothing is seen."""
        said = self.warnings.warn(kind, message, hint, cause)
        if said:
            facts = {"text": said[:1].upper() + said[1:], "functions": list(functions[:_NAMED])}
            self.put_event(max(self.ran.stop - 1, 0), "unseen", facts)

    def tell_if_nothing_was_captured(self, watches: Sequence[Watch]) -> None:
        """Warns if the watched steps ran functions, but the watches selected nothing in them."""
        if self.missed and not self.selections:
            self.unseen(
                "nothing",
                f"nothing was captured, because {', '.join(map(repr, watches))} selects no tensor of"
                f" {', '.join(sorted(self.missed)[:5])}",
                f"{self._what_is_known()}; Watch() shows all names.",
            )

    def _what_is_known(self) -> str:
        """Of the functions of which nothing was selected."""
        kinds = sorted(set().union(*self.missed.values()) - {""})
        if kinds in ([], ["input"]):  # nothing that is noted while a function is traced
            return "Layers and kinds are known of functions that were first called after the tap was made"
        return f"Kinds known of them: {', '.join(kinds)}"

    def note_steps(self, steps: range, watched: bool) -> None:
        """Steps begin."""
        self.watched |= watched
        before = self.ran or steps
        self.ran = range(min(before.start, steps.start), max(before.stop, steps.stop))

    def tell_if_no_step_was_watched(self, watches: Sequence[Watch]) -> None:
        """Warns if steps ran, but the watches never were for one of them."""
        if self.ran and not self.watched and self.recordings is None:
            self.unseen(
                "steps",
                f"nothing was captured, because {', '.join(map(repr, watches))} is for none of the steps that"
                f" ran, {self.ran.start} to {self.ran.stop - 1}",
                "Watch(steps=1) is for all of them; steps count from 0.",
            )

    def graph_of(self, traced: TracedRoot, way: Way, *, sources: bool) -> GraphHandle:
        key = traced.root, way
        if key not in self.graphs:
            self.graphs[key] = GraphHandle(lambda: self._made(traced, way, sources))
        return self.graphs[key]

    def _made(self, traced: TracedRoot, way: Way, sources: bool) -> Graph | None:
        try:
            return replace(traced.graph_for(sources=sources), way=way)
        except Exception as error:
            name = short_function_name(traced.root)
            what = f"the graph of the function {name} cannot be recorded"
            self.warnings.warn(f"graph {name}", what, "Its tensors are kept without it.", error)
            return None

    def selection_of(self, traced: TracedRoot, watches: tuple[Watch, ...]) -> Selection:
        key = traced.root, watches
        if key not in self.selections:
            self.selections[key] = dict(_select(traced.candidates, watches))
        return self.selections[key]


def _select(candidates: dict[Place, Candidate], watches: Sequence[Watch]) -> Iterator[tuple[Place, Selected]]:
    for place, candidate in candidates.items():
        chosen = selected(candidate, watches)
        if chosen is not None:
            yield place, chosen


def keep_of(candidate: Candidate, watches: Sequence[Watch]) -> Keep | None:
    """How much the watches want of a tensor of any size; None if none selects it."""
    chosen = selected(candidate, watches)
    return None if chosen is None else chosen.wish.keep


class StepCapture:
    """A `Capture` (see `intercept`) that turns caught tensors into batches."""

    def __init__(
        self,
        owner: object,
        outlet: Outlet,
        entry: Entry,
        watches: tuple[Watch, ...],
        known_layers: Collection[str],
        embeds_sources: bool,
        exact: bool = False,
    ) -> None:
        self.entry = entry
        self.exact = exact
        self.plan: Plan | None = None  # what becomes of the tensors, if that is more than being written
        self.owner = owner
        self.step = entry.steps.start
        self.watches = watches
        self.known_layers = tuple(known_layers)
        self.embeds_sources = embeds_sources
        self._outlet = outlet
        self._visits = outlet.visits_of(self.step)
        self._pending: StepRecording | None = None  # the recording of the call that runs

    @property
    def records(self) -> bool:
        """Whether its calls are recorded."""
        return self.entry.records

    def take(self, traced: TracedRoot, caught: TapValues, way: Way) -> None:
        self._safely(traced.root, lambda: self._take(traced, caught, way))

    def begin(self, traced: TracedRoot, inputs: Sequence[Any]) -> StepRecording | None:
        recordings = self._outlet.recordings
        if recordings is None or not self.records:
            return None
        self._pending = recordings.begin(traced, inputs, self.entry)
        if self._pending is not None:
            self._safely(traced.root, lambda: self._count_from(traced))
        return self._pending

    def _count_from(self, traced: TracedRoot) -> None:
        """The recording counts visits within its call, a step goes on counting."""
        visits = self._visits[traced.root]
        if visits and self._pending is not None:
            selection = self._outlet.selection_of(traced, self.watches)
            names = {selection[place].candidate.name: n for place, n in visits.items() if place in selection}
            self._pending.seen = TensorHashes(names)

    def failed(self, function: str, what: str, error: BaseException) -> None:
        name = short_function_name(function)
        if isinstance(error, ChoiceFailedError):
            self._outlet.unseen(
                "choice",
                error.message,
                f"{error.hint} The function {name} runs untapped, training goes on.",
                error.__cause__,
            )
            return
        self._outlet.unseen(
            f"function {name}: {what}",
            f"the function {name} {what}",
            "It runs untapped, training goes on. A narrower Watch may leave out what cannot be tapped.",
            error,
        )

    def no_shadow(self, function: str, why: str) -> None:
        name = short_function_name(function)
        self._outlet.unseen(
            f"shadow {name}",
            f"the function {name} is not captured, because exact=True cannot run it twice: {why}",
            "It runs untouched. Without exact=True it is captured in place.",
        )

    def draws_apart(self, function: str, nodes: Sequence[str], copies: int) -> None:
        recordings = self._outlet.recordings
        if recordings and recordings.takes_all and self._pending is not None and copies == 1:
            return  # there is no other stream than the copy's, as long as each step selects the same tensors
        name = short_function_name(function)
        self._outlet.warnings.warn(
            f"random {name}",
            f"the function {name} draws random numbers by seeded ops that keep their own state ({nodes[0]});"
            " on watched and recorded steps these draw from a second stream, so that training takes another"
            " course, unless all steps are, and capture the same tensors",
            "Draw from a tf.random.Generator or by stateless ops, as Keras layers do.",
        )

    def inside_datasets(self, function: str, nodes: Sequence[str]) -> None:
        name = short_function_name(function)
        self._outlet.unseen(
            f"datasets {name}",
            f"what datasets compute inside of the function {name} is not captured ({nodes[0]})",
            "Make the dataset outside of the function and pass its elements or its iterator.",
        )

    def missed(self, traced: TracedRoot) -> None:
        kinds = {candidate.kind for candidate in traced.candidates.values()}
        self._outlet.missed[short_function_name(traced.root)] = kinds

    def out_of_reach(self, candidates: Sequence[Candidate]) -> None:
        functions = sorted({candidate.function for candidate in candidates})
        self._outlet.unseen(
            "out of reach",
            f"{counted(len(candidates), 'selected tensor')} cannot be seen, inside loops or branches that XLA"
            f" compiles ({', '.join(functions[:3])})",
            "The outputs of those loops can be captured. To see inside, set jit_compile=False.",
            functions=functions,
        )

    def _safely(self, function: str, action: Callable[[], None]) -> None:
        try:
            action()
        except Exception as error:
            self.failed(function, "ran, but its tensors could not be handed over", error)

    def _take(self, traced: TracedRoot, caught: TapValues, way: Way) -> None:
        selection = self._outlet.selection_of(traced, self.watches)
        visits = self._visits[traced.root]
        captured: deque[CapturedTensor] = deque()
        for places, arrays, skipped, _ in caught:
            if arrays is None:
                visits.update(dict.fromkeys(places, skipped))  # adds to the counts
                continue
            for place, array in zip(places, arrays, strict=True):  # thousands in a step: kept short
                chosen = selection.get(place)
                if chosen is not None:
                    visit = visits.get(place, 0) + skipped
                    visits[place] = visit + 1
                    wish = chosen.wish_of(array.size) if chosen.undecided else chosen.wish
                    if wish is not None:
                        captured.append(CapturedTensor(chosen.candidate, visit, array, *wish))
        if captured:
            if self._pending is not None:
                self._pending.seen.add(captured)
            self.put(self._outlet.graph_of(traced, way, sources=self.embeds_sources), captured)

    def take_tensors(
        self,
        key: str,
        graph: GraphHandle,
        groups: Iterable[tuple[Mapping[Any, tuple[Candidate, Keep]], Mapping[Any, Sequence[Any]]]],
    ) -> None:
        """Keeps what a run of a session computed: chosen tensors, and their values by visit; None for a visit
        at which a tensor was not computed.

        Args:
            key: tells kinds of runs apart; visits of one kind are counted through the step.
        """
        visits = self._visits[key]
        captured: deque[CapturedTensor] = deque()
        for chosen, values in groups:
            for tensor, (candidate, keep) in chosen.items():
                place = "", candidate.node, candidate.slot
                for value in values.get(tensor, ()):
                    if value is not None:
                        captured.append(CapturedTensor(candidate, visits[place], _as_array(value), keep))
                    visits[place] += 1
        if captured:
            self._safely(key, lambda: self.put(graph, captured))

    def cannot_see(self, imported: Sequence[str], calls: Sequence[str]) -> None:
        """Parts of a session's graph that its taps do not reach."""
        if imported:
            self._outlet.unseen(
                "imported control flow",
                f"{len(imported)} nodes in or behind loops and branches are not captured ({imported[0]}),"
                " because the graph was imported without what belongs to them",
                "Import a MetaGraph (tf.compat.v1.train.import_meta_graph) instead of a GraphDef.",
            )
        if calls:
            self._outlet.unseen(
                "functions of a session",
                f"the insides of the functions that {', '.join(calls[:3])} run are not captured;"
                " their results are",
                "With tf.compat.v1.disable_control_flow_v2() loops and branches are built of single ops,"
                " which are captured one by one.",
            )

    def drop(self, count: int) -> None:
        """Counts tensors that were selected but could not be kept."""
        self._outlet.writer_thread.drop(count)

    def put(self, graph: GraphHandle, captured: deque[CapturedTensor]) -> None:
        """Hands tensors of one graph to the writer's thread."""
        if self.plan is not None:
            captured = self.plan.apply(captured)
        nbytes = sum(held_bytes(item.array) for item in captured)
        self._outlet.writer_thread.put(
            Batch(self.step, time.time(), graph, captured, nbytes, entry=self.entry)
        )


def _as_array(value: Any) -> np.ndarray[Any, Any]:
    """What a session returns for a tensor; text comes as bytes."""
    return np.array(value, dtype=object) if isinstance(value, bytes | str) else np.asarray(value)
