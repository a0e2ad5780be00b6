"""Compares two runs, steps or workers tensor by tensor, up to the first step at which they differ."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

import numpy as np

from tensortap.core.errors import NotFoundError
from tensortap.core.progress import Advance, ignore_advance
from tensortap.core.text import counted
from tensortap.index.query.search import Filters, find_rows
from tensortap.index.run_index import RunIndex

from ..model_graph.roles import Slot, roles_of
from ..nonfinite.step_calls import StepCalls
from ..notes import missing_values_note
from .comparison_records import Comparison, GraphPair, SideInfo, TensorDifference, Unmatched
from .first_divergence import first_divergence
from .matching.graph_pairs import Matcher, equal_steps, graph_pair, graphs_of, unmatched
from .matching.node_matching import Matching, check_matches
from .matching.row_alignment import graphs_by_place, step_rows
from .metrics.distances import accepted_by_tools
from .metrics.ulp import common_dtype
from .propagation.conditioning import Flow, reclassify_ill_conditioned
from .propagation.difference_flow import (
    DIFFERENCE_VERDICTS,
    ClassifiedTensor,
    DifferenceFlow,
    State,
    carried_over,
)
from .propagation.mismatches import DIFFER, unpair_mismatches, unpaired_notes
from .side import Side
from .tensor_pairs import PairDetails, StepPairs
from .worker_drift import WorkerDrift, find_drift


def compare(
    a: Side,
    b: Side,
    *,
    matches: Mapping[str, str] | None = None,
    where: str | None = None,
    progress: Advance | None = None,
) -> Comparison:
    """Compares the captured tensors of two sides.

    Without steps, all steps captured by both are compared, ascending, up to the first difference beyond
    noise; with a step on one side only, that of the other is the same. Of two workers of one run, the first
    step is compared at which their weights or all-reduced gradients differ, if there is one.

    Args:
        matches: node in A -> node in B, before names and structure are asked.
        where: only tensors of A whose snapshots fit (see `tensortap show --where`); the data flow is
            followed through all of them.
        progress: called with (tensors done, number of tensors, name of the task).

    Raises:
        NotFoundError: no such step, worker or node, or no step that both have. SelectionError: `where` cannot
            be read.
    """
    a.check()
    b.check()
    check_pairs(a.run, b.run, matches or {})
    wanted = None if where is None else _wanted(a, where)
    matcher, steps, carried = Matcher(matches or {}), _steps(a, b), State()
    progress = progress or (ignore_advance)
    drift = find_drift(a, b, [step for step, _ in steps])
    if drift is not None and drift.place >= 0:
        at = _StepComparison(a, b, *steps[drift.place])
        at.measure(matcher, carried, progress)
        return at.result(1, len(steps) - drift.place, wanted, drift)
    for number in _steps_to_compare(matcher, a, b, steps, progress):
        at = _StepComparison(a, b, *steps[number])
        at.measure(matcher, carried, progress)
        carried = at.carried
        if number == len(steps) - 1 or at.differs:
            return at.result(number + 1, len(steps), wanted, drift)
    raise AssertionError("there is at least one step")


def _steps_to_compare(
    matcher: Matcher, a: Side, b: Side, steps: list[tuple[int, int]], progress: Advance
) -> Iterator[int]:
    """The steps to compare tensor by tensor: the first, the last, and those with any difference or stored
    values."""
    yield 0
    if len(steps) > 1:
        progress(0, len(steps), "steps")
        later = equal_steps(matcher, a, b, [step for step, _ in steps[1:]])
        later[-1] = False
        yield from (np.flatnonzero(~later) + 1).tolist()


def _advance(progress: Advance, total: int, doing: str, done: int) -> None:
    progress(done, total, doing)


def check_pairs(a: RunIndex, b: RunIndex, matches: Mapping[str, str]) -> None:
    """Raises NotFoundError if a manual match names a node that is in no captured graph of the runs."""
    if matches:
        check_matches(matches, graphs_of(a), graphs_of(b))


def _steps(a: Side, b: Side) -> list[tuple[int, int]]:
    of_a, of_b = a.steps(), b.steps()
    if a.step is not None and b.step is not None:
        return [(a.step, b.step)]
    common = sorted(set(of_a) & set(of_b))
    if not common:
        spans = [f"{s.run.name}: {_span(steps)}" for s, steps in ((a, of_a), (b, of_b))]
        raise NotFoundError(
            "The runs have no common captured step.",
            f"{'; '.join(spans)}. Choose a step of each: --step N --step-b M.",
        )
    return [(step, step) for step in common]


def _span(steps: list[int]) -> str:
    if len(steps) < 2:
        return f"step {steps[0]} only" if steps else "no steps"
    return f"{len(steps)} steps, {steps[0]} to {steps[-1]}"


def _wanted(a: Side, where: str) -> set[tuple[str, str, int]]:
    """(graph, tensor name, step) of the snapshots of A that fit."""
    catalog = a.run.catalog
    rows = find_rows(a.run, Filters(where=where))
    columns = (catalog.column(name, rows).tolist() for name in ("tensor", "step"))
    tensors = catalog.tensors
    return {(tensors.graph_of(t), tensors.names[t], step) for t, step in zip(*columns, strict=True)}


class _StepComparison:
    """The comparison at one pair of steps."""

    def __init__(self, a: Side, b: Side, step_a: int, step_b: int) -> None:
        self.a, self.b, self.steps = a, b, (step_a, step_b)
        self.tensors: list[TensorDifference] = []
        self.flows: list[Flow] = []
        self.carried = State()
        self._judged: list[tuple[Matching, StepPairs, list[ClassifiedTensor]]] = []
        self._places: dict[tuple[str, Slot], tuple[int, list[ClassifiedTensor], TensorDifference]] = {}

    def measure(self, matcher: Matcher, carried: State, progress: Advance) -> None:
        """Measures and judges every pair of tensors."""
        step_a, step_b = self.steps
        rows_a, seen_a = step_rows(self.a, np.array([step_a]))
        rows_b, seen_b = step_rows(self.b, np.array([step_b]))
        (of_a,), (of_b,) = graphs_by_place(self.a.run, seen_a, 1), graphs_by_place(self.b.run, seen_b, 1)
        for matching in matcher.graphs(self.a, self.b, of_a, of_b):
            codes = matcher.codes(matching, self.a.run, self.b.run)
            pairs = StepPairs(codes, self.a.run, self.b.run, rows_a, rows_b)
            found = pairs.measured(partial(_advance, progress, len(pairs), f"step {step_a}"))
            progress(0, len(pairs), f"step {step_a}")
            follow = partial(DifferenceFlow, matcher.flow_graph(matching), carried=carried)
            flow = unpair_mismatches(matching, found, follow)
            self.carried = max(self.carried, carried_over(flow.classified, carried), key=lambda s: s.depth)
            self._judged.append((matching, pairs, flow.classified))

    @property
    def differs(self) -> bool:
        """Whether any tensor differs by more than rounding explains."""
        return any(entry.verdict in DIFFER for _, _, classified in self._judged for entry in classified)

    def _fill(self) -> None:
        """Fills `tensors`, in data flow order, and `flows`."""
        for number, (matching, pairs, classified) in enumerate(self._judged):
            left, right = self.a.tensors(matching.a, self.steps[0]), self.b.tensors(matching.b, self.steps[1])
            self.flows.append((matching, left, right))
            by_slot: dict[Slot, list[ClassifiedTensor]] = {}
            for entry in classified:
                by_slot.setdefault(entry.slot, []).append(entry)
            order = matching.a.order
            slots = sorted(by_slot, key=lambda slot: (int(order[slot[0]]), slot))
            worst = [min(by_slot[slot], key=lambda e: DIFFERENCE_VERDICTS.index(e.verdict)) for slot in slots]
            details = pairs.details([entry.measured.number for entry in worst])
            for entry, known in zip(worst, details, strict=True):
                found = _difference(matching, entry, known, len(by_slot[entry.slot]))
                self.tensors.append(reclassify_ill_conditioned(self.flows[-1], found))
                place = matching.a.id, entry.slot
                self._places[place] = number, by_slot[entry.slot], self.tensors[-1]

    def captured(self, graph: str, slot: Slot) -> bool:
        """Whether both sides captured a tensor of a graph of A."""
        return (graph, slot) in self._places

    def at(self, graph: str, slot: Slot, visit: int | None) -> TensorDifference:
        """A captured tensor at a visit; without one, or if it was not captured then, at its worst."""
        number, visits, worst = self._places[graph, slot]
        matching, pairs, _ = self._judged[number]
        entry = next((each for each in visits if each.measured.visit == visit), None)
        if entry is None or visit == worst.visit:
            return worst
        (details,) = pairs.details([entry.measured.number])
        return _difference(matching, entry, details, len(visits))

    def result(
        self,
        number: int,
        total: int,
        wanted: set[tuple[str, str, int]] | None,
        drift: WorkerDrift | None,
    ) -> Comparison:
        """The records."""
        self._fill()
        step_a, step_b = self.steps
        shown = [
            entry for entry in self.tensors if wanted is None or (entry.graph, entry.tensor, step_a) in wanted
        ]
        left, right = self._left()
        first = None if drift is None else drift.first(self.a.run, step_a, self.tensors)
        differ = first is not None or any(entry.verdict in DIFFER for entry in shown)
        runs = self.a.run, self.b.run
        calls = StepCalls(self.a.run, step_a, self.a.worker_at(step_a)[0] or 0)
        return Comparison(
            a=self._info(self.a, step_a),
            b=self._info(self.b, step_b),
            steps=number,
            graphs=[graph_pair(matching) for matching, _, _ in self.flows],
            tensors=shown,
            counts={v: sum(entry.verdict == v for entry in shown) for v in DIFFERENCE_VERDICTS},
            first=first_divergence(runs, self.flows, self.tensors, self, number, calls)
            if differ and first is None
            else first,
            only_a=left,
            only_b=right,
            differ=differ,
            notes=[*self._unshown(shown), *_copies_note(drift, total), *self._notes(number, total)],
        )

    def _unshown(self, shown: list[TensorDifference]) -> Iterator[str]:
        """Notes on tensors that `where` hides."""
        if self.tensors and not shown:
            yield "No tensor captured in both runs at this step matches the condition."
        if self.differs and not any(entry.verdict in DIFFER for entry in shown):
            apart = counted(sum(entry.verdict in DIFFER for entry in self.tensors), "tensor")
            yield f"Tensors that differ but are excluded by the condition: {apart}."

    def _left(self) -> tuple[list[Unmatched], list[Unmatched]]:
        left, right = list[Unmatched](), list[Unmatched]()
        for matching, a, b in self.flows:
            left += unmatched(self.a.run, matching.a, matching.unmatched_a(), {row for row, _ in a.captured})
            right += unmatched(self.b.run, matching.b, matching.unmatched_b(), {row for row, _ in b.captured})
        return left, right

    def _info(self, side: Side, step: int) -> SideInfo:
        code, _ = side.worker_at(step)
        worker = "" if code is None else side.run.catalog.workers[code]
        return SideInfo(side.run.name, side.run.id, step, worker)

    def _notes(self, number: int, total: int) -> Iterator[str]:
        for side, step, name in zip((self.a, self.b), self.steps, "AB", strict=True):
            others = side.worker_at(step)[1] - 1
            if others > 0 and side.worker is None:
                yield f"{name} has {others + 1} workers at this step; the comparison uses the first."
        if not self.flows:
            yield "No graph was captured in both runs at this step."
        graphs: list[GraphPair] = [graph_pair(matching) for matching, _, _ in self.flows]
        if graphs and not self.tensors:
            yield "No tensor was captured in both runs: watch the same nodes in both."
        samples = sum(entry.basis == "sample" for entry in self.tensors)
        total_text = f"of {len(self.tensors):,} tensors were compared by"
        if samples:
            means = (
                "largest distances are lower bounds" if self.differs else "other elements may still differ"
            )
            yield f"{samples:,} {total_text} samples and summaries: their {means}."
        summaries = [entry for entry in self.tensors if entry.basis == "summaries"]
        if summaries:
            why = missing_values_note([e.no_value_a for e in summaries], [e.no_value_b for e in summaries])
            means = "distances are lower bounds" if self.differs else "elements may still differ"
            yield f"{len(summaries):,} {total_text} summaries only: their {means}. {why}"
        yield from (note for matching, _, _ in self.flows for note in unpaired_notes(matching))
        if number < total:
            later = counted(total - number, "later step")
            yield f"{later} {'was' if total - number == 1 else 'were'} not compared."


def _copies_note(drift: WorkerDrift | None, steps: int) -> Iterator[str]:
    """Whether other differences of two workers are expected."""
    if drift is not None and drift.place < 0:
        equal = f"{counted(drift.copies, 'weight or all-reduced gradient')} of both workers"
        yield f"{equal}: equal at {counted(steps, 'step')}. Other tensors differ with the workers' batches."


def _difference(
    matching: Matching, entry: ClassifiedTensor, details: PairDetails, visits: int
) -> TensorDifference:
    graph, row, found = matching.a, entry.slot[0], entry.measured
    a, b = details.a, details.b
    return TensorDifference(
        tensor=a.tensor,
        other=b.tensor,
        node=graph.names[row],
        graph=graph.id,
        other_graph=matching.b.id,
        op_type=graph.op_type[row],
        layer=graph.layer[row],
        matched=matching.how[row],
        order=int(np.int64(graph.order[row])),
        visit=found.visit,
        visits=visits,
        dtype_a=a.dtype,
        dtype_b=b.dtype,
        shape_a=a.shape,
        shape_b=b.shape,
        basis=found.basis,
        verdict=entry.verdict,
        limit=entry.limit,
        before=entry.before.relative,
        metrics=details.metrics,
        accepted=accepted_by_tools(details.metrics, common_dtype(a.dtype, b.dtype)),
        variable=roles_of(graph).read_variable(row),
        no_value_a=a.no_value,
        no_value_b=b.no_value,
    )
