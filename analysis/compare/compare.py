"""Compares two runs, steps or workers: tensor by tensor, up to the first step at which they differ."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import numpy as np

from tensortap.dump import NotFoundError
from tensortap.index import Filters, RunIndex, find_rows

from ..provenance.step import Slot, StepTensors
from .conditioning import judged_again
from .explain import first_divergence
from .flow import VERDICTS, DifferenceFlow, Judged, State, carried_on
from .graphs import Matcher, graph_pair, graphs_of, unmatched
from .match import Matching, check_matches
from .noise import accepted
from .pairs import measured, slot_pairs
from .records import Comparison, GraphPair, SideInfo, TensorDifference, Unmatched
from .side import Side
from .ulp import common_dtype

Advance = Callable[[int, int, str], None]
_DIFFER = ("diverges", "amplified", "inherited")


def compare(
    a: Side,
    b: Side,
    *,
    matches: Mapping[str, str] | None = None,
    where: str | None = None,
    progress: Advance | None = None,
) -> Comparison:
    """Compares the captured tensors of two sides.

    Without steps, all steps that both captured are compared, ascending, up to the first at which they differ
    beyond noise; with a step on one side only, that of the other is the same.

    Args:
        matches: node in A -> node in B, before names and structure are asked.
        where: only tensors of A whose snapshots fit (see `tensortap show --where`); the data flow is
            followed through all of them.
        progress: called with (tensors done, tensors in all, what is done).

    Raises:
        NotFoundError: no such step, worker or node, or no step that both have. SelectionError: `where` cannot
            be read.
    """
    a.check()
    b.check()
    check_pairs(a.run, b.run, matches or {})
    wanted = None if where is None else _wanted(a, where)
    matcher, steps, carried = Matcher(matches or {}), _steps(a, b), State()
    for number, (step_a, step_b) in enumerate(steps):
        at = _AtStep(a, b, step_a, step_b)
        at.look(matcher, carried, progress or (lambda done, total, doing: None))
        carried = at.carried
        if number == len(steps) - 1 or any(entry.verdict in _DIFFER for entry in at.tensors):
            return at.result(number + 1, len(steps), wanted)
    raise AssertionError("there is at least one step")


def check_pairs(a: RunIndex, b: RunIndex, matches: Mapping[str, str]) -> None:
    """Raises NotFoundError if a match by hand names a node that no captured graph of the runs has."""
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
            "There is no step that both captured.",
            f"{'; '.join(spans)}. Choose one of each: --step N --step-b M.",
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


class _AtStep:
    """The comparison at one pair of steps."""

    def __init__(self, a: Side, b: Side, step_a: int, step_b: int) -> None:
        self.a, self.b, self.steps = a, b, (step_a, step_b)
        self.tensors: list[TensorDifference] = []
        self.judged: dict[int, Judged] = {}  # place in `tensors` -> the visit that it tells of
        self.flows: list[tuple[Matching, StepTensors, StepTensors]] = []
        self.carried = State()

    def look(self, matcher: Matcher, carried: State, progress: Advance) -> None:
        """Measures and judges every pair of tensors."""
        step_a, step_b = self.steps
        for matching in matcher.pairs(self.a, self.b, step_a, step_b):
            left, right = self.a.tensors(matching.a, step_a), self.b.tensors(matching.b, step_b)
            self.flows.append((matching, left, right))
            pairs = slot_pairs(matching, left, right)
            found = {}
            for number, (slot, visits) in enumerate(measured(left, right, pairs)):
                progress(number, len(pairs), f"step {step_a}")
                found[slot] = visits
            flow = DifferenceFlow(left, found, carried)
            self.carried = max(self.carried, carried_on(flow.judged, carried), key=lambda s: s.depth)
            self._add(matching, dict(pairs), flow)

    def _add(self, matching: Matching, pairs: dict[Slot, Slot], flow: DifferenceFlow) -> None:
        by_slot: dict[Slot, list[Judged]] = {}
        for entry in flow.judged:
            by_slot.setdefault(entry.slot, []).append(entry)
        for slot in pairs:
            visits = by_slot.get(slot)
            if visits:
                worst = min(visits, key=lambda entry: VERDICTS.index(entry.verdict))
                self.judged[len(self.tensors)] = worst
                found = _difference(matching, worst, pairs[slot], len(visits))
                self.tensors.append(judged_again(self.flows[-1], found))

    def result(self, number: int, total: int, wanted: set[tuple[str, str, int]] | None) -> Comparison:
        """The records."""
        step_a, step_b = self.steps
        shown = [
            entry for entry in self.tensors if wanted is None or (entry.graph, entry.tensor, step_a) in wanted
        ]
        left, right = self._left()
        return Comparison(
            a=self._info(self.a, step_a),
            b=self._info(self.b, step_b),
            steps=number,
            graphs=[graph_pair(matching) for matching, _, _ in self.flows],
            tensors=shown,
            counts={v: sum(entry.verdict == v for entry in shown) for v in VERDICTS},
            first=first_divergence((self.a.run, self.b.run), self.flows, self.tensors, number),
            only_a=left,
            only_b=right,
            differ=any(entry.verdict in _DIFFER for entry in shown),
            notes=list(self._notes(number, total)),
        )

    def _left(self) -> tuple[list[Unmatched], list[Unmatched]]:
        left, right = list[Unmatched](), list[Unmatched]()
        for matching, a, b in self.flows:
            left += unmatched(matching.a, matching.left_a(), {row for row, _ in a.captured})
            right += unmatched(matching.b, matching.left_b(), {row for row, _ in b.captured})
        return left, right

    def _info(self, side: Side, step: int) -> SideInfo:
        code, _ = side.worker_at(step)
        worker = "" if code is None else side.run.catalog.workers[code]
        return SideInfo(side.run.name, side.run.id, step, worker)

    def _notes(self, number: int, total: int) -> Iterator[str]:
        for side, step, name in zip((self.a, self.b), self.steps, "AB", strict=True):
            others = side.worker_at(step)[1] - 1
            if others > 0 and side.worker is None:
                yield f"{name} has {others + 1} workers at this step; the first was compared."
        if not self.flows:
            yield "No graph was captured on both sides at this step."
        graphs: list[GraphPair] = [graph_pair(matching) for matching, _, _ in self.flows]
        if graphs and not self.tensors:
            yield "No tensor was captured on both sides: watch the same nodes in both runs."
        summaries = sum(entry.basis == "summaries" for entry in self.tensors)
        if summaries:
            yield (
                f"{summaries:,} of {len(self.tensors):,} tensors were compared by their summaries: their "
                'distances are lower bounds. Watch(keep="value") in both runs tells all.'
            )
        if number < total:
            yield f"{total - number:,} later steps were not compared."


def _difference(matching: Matching, entry: Judged, other: Slot, visits: int) -> TensorDifference:
    graph, (row, slot), found = matching.a, entry.slot, entry.measured
    dtype = common_dtype(found.a.dtype, found.b.dtype)
    return TensorDifference(
        tensor=f"{graph.names[row]}:{slot}",
        other=f"{matching.b.names[other[0]]}:{other[1]}",
        node=graph.names[row],
        graph=graph.id,
        other_graph=matching.b.id,
        op_type=graph.op_type[row],
        layer=graph.layer[row],
        matched=matching.how[row],
        order=int(np.int64(graph.order[row])),
        visit=found.a.visit,
        visits=visits,
        dtype_a=found.a.dtype,
        dtype_b=found.b.dtype,
        shape_a=found.a.shape,
        shape_b=found.b.shape,
        basis=found.basis,
        verdict=entry.verdict,
        limit=entry.limit,
        before=entry.before.relative,
        metrics=found.metrics,
        accepted=accepted(found.metrics, dtype),
    )
