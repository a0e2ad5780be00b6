"""The NaN report: where NaN and infinities originate at a step of a run, and what they reach."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from weakref import WeakKeyDictionary

import numpy as np

from tensortap.core.errors import NotFoundError
from tensortap.index.query.search import Filters, find_rows
from tensortap.index.run_index import RunIndex

from ..model_graph.call_dataflow import dataflow_of
from ..model_graph.roles import Slot
from ..notes import coverage_note, missing_elements_note, uncaptured_functions
from ..run_view.step_tensors import StepTensors
from .expected import nonfinite_gradient_text, replacement_text
from .nonfinite_flow import FlowTensor, NonfiniteFlow
from .origin import Origin, describe_origin, with_details
from .reach import Link, Reach, chain

Advance = Callable[[int, int, str], None]
DETAILED = 20  # origins whose source line and elements are looked up
MAX_ORIGINS = 400  # origins that are described at all
_DataFlowPlace = tuple[bool, int, int, int]


@dataclass(frozen=True, slots=True)
class NanReport:
    """Where non-finite values originate at a step.

    Attributes:
        run: its name. step: the step, None if no captured tensor of the run is non-finite.
        origins: in data flow order, those that matter. demoted: harmless ones, each with its reason.
        chain: from the first origin to the loss. nonfinite, passed: tensors; healed: captured ones that
            were handed non-finite values and are finite.
        notes: sentences about what limits the answer, and what to capture to know more.
        graph, graph_name, worker: whose step; loss: the tensor taken for the loss, or None.
        previous: the captured step before, or None.
    """

    run: str
    step: int | None
    graph: str
    graph_name: str
    worker: str
    loss: str | None
    origins: list[Origin]
    demoted: list[Origin]
    chain: list[Link]
    nonfinite: int
    passed: int
    healed: int
    previous: int | None
    notes: list[str]


def nan_report(
    run: RunIndex, step: int | None = None, advance: Advance = lambda done, total, doing: None
) -> NanReport:
    """Follow the non-finite values of a step to their origins.

    Args:
        step: by default the first one with an origin that matters, or else the first one with any.
        advance: called with the progress; what it raises ends the work.

    Raises:
        NotFoundError: nothing was captured at that step.
    """
    if step is not None:
        if run.catalog.steps.code(step) is None:
            raise NotFoundError(f"The run has no snapshot at step {step}.", _span(run))
        reports = list(_reports(run, step, advance))
        return _worst(reports) if reports else empty_report(run, step)
    known = _FIRST.get(run)
    if known is not None and known[1] == _nonfinite_until(run, known[0]):
        return known[0]  # what was added since lies behind it
    report = _first_that_matters(run, advance)
    if report is None:
        return empty_report(run, None)
    if not _matters(report):
        return replace(report, notes=[*report.notes, coverage_note(run)])
    _FIRST[run] = report, _nonfinite_until(run, report)
    return report


def _first_that_matters(run: RunIndex, advance: Advance) -> NanReport | None:
    """The report on the first step with an origin that matters; else on the first whose origins become finite
    again, or with any non-finite tensor."""
    fallback: NanReport | None = None
    candidates = novel_steps(run)
    for number, candidate in enumerate(candidates):
        advance(number, len(candidates), f"step {candidate}")
        report = _worst(list(_reports(run, candidate, advance)))
        if _matters(report):
            return report
        if fallback is None or (report.origins and not fallback.origins):
            fallback = report
    return fallback


def _matters(report: NanReport) -> bool:
    """Whether an origin neither heals nor is replaced before it reaches anything that matters."""
    return any(not origin.aftermath for origin in report.origins)


_FIRST: WeakKeyDictionary[RunIndex, tuple[NanReport, int]] = WeakKeyDictionary()


def _nonfinite_until(run: RunIndex, report: NanReport) -> int:
    """How many snapshots, non-finite or of the report's own step, there are up to it."""
    step = report.step or 0
    code = run.catalog.steps.code(step)
    of_step = 0 if code is None else len(run.catalog.rows_of_step(code))
    return len(find_rows(run, Filters(steps=(0, step + 1), nonfinite=True))) + of_step


def empty_report(run: RunIndex, step: int | None) -> NanReport:
    """The report where every captured tensor is finite."""
    notes = [coverage_note(run)] if step is None else []
    return NanReport(run.name, step, "", "", "", None, [], [], [], 0, 0, 0, None, notes)


def novel_steps(run: RunIndex) -> list[int]:
    """The steps at which some tensor held NaN, or held infinities, for the first time; ascending."""
    catalog = run.catalog
    rows = find_rows(run, Filters(nonfinite=True))
    if not len(rows):
        return []
    key = catalog.column("tensor", rows).astype(np.int64) * 2 + (catalog.column("nan", rows) > 0)
    step = catalog.column("step", rows)
    order = np.lexsort((step, key))
    starts = np.flatnonzero(np.append(True, np.diff(key[order]) != 0))
    return np.unique(step[order][starts]).tolist()  # type: ignore[no-any-return]


def _reports(run: RunIndex, step: int, advance: Advance) -> Iterator[NanReport]:
    """A report for each graph and worker that has non-finite tensors at a step."""
    catalog = run.catalog
    rows = find_rows(run, Filters(steps=step, nonfinite=True))
    tensors, workers = catalog.column("tensor", rows), catalog.column("worker", rows)
    graphs = catalog.tensors.columns(len(catalog.tensors))[0][tensors]
    for graph, worker in np.unique(np.stack([graphs, workers], axis=1), axis=0).tolist():
        graph_id = catalog.tensors.graphs[graph] or "-"
        yield step_report(run, graph_id, step, worker, advance)


def step_report(
    run: RunIndex,
    graph_id: str,
    step: int,
    worker: int | None = None,
    advance: Advance = lambda done, total, doing: None,
) -> NanReport:
    """The report on one graph's tensors at a step; `worker` is a code of the catalog, None for all."""
    graph = run.graph(graph_id)
    flow = NonfiniteFlow(StepTensors(run, graph, step, worker))
    found = flow.origins()
    described = _described(flow, found[:MAX_ORIGINS], advance)
    origins = rank_origins(flow, [origin for origin in described if not origin.demoted])
    detailed = origins.copy()
    for number, origin in enumerate(origins[:DETAILED]):
        advance(number, min(len(origins), DETAILED), origin.node)
        detailed[number] = with_details(flow, origin)
    loss = flow.tensors.roles.loss
    previous = _previous(run, graph_id, step)
    return NanReport(
        run=run.name,
        step=step,
        graph=graph_id,
        graph_name=graph.name,
        worker=flow.tensors.worker,
        loss=None if loss is None else f"{graph.names[loss]}:0",
        origins=detailed,
        demoted=[_with_gradient_note(flow, origin, origins) for origin in described if origin.demoted],
        chain=chain(flow, next(bad.slot for bad in found if flow.tensors.name(bad.slot) == origins[0].tensor))
        if origins
        else [],
        nonfinite=len(flow.bad),
        passed=len(flow.bad) - len(found),
        healed=len({healer.tensor for origin in described for healer in origin.ends.healers}),
        previous=previous,
        notes=_notes(flow, detailed, step, previous),
    )


def _described(flow: NonfiniteFlow, origins: list[FlowTensor], advance: Advance) -> list[Origin]:
    reach, found = Reach(flow, origins), []
    for number, bad in enumerate(origins):
        advance(number, len(origins), flow.tensors.name(bad.slot))
        found.append(describe_origin(flow, bad, reach.of(number)))
    return found


def _with_gradient_note(flow: NonfiniteFlow, harmless: Origin, origins: list[Origin]) -> Origin:
    """A harmless origin, which says so if the gradient of its op is one that matters."""
    loss = flow.tensors.roles.loss
    for origin in origins:
        if origin.forward is not None and origin.forward.node == harmless.node:
            finite = loss is not None and flow.is_finite(loss)
            text = nonfinite_gradient_text(harmless.demoted, origin.tensor, loss_finite=finite)
            return replace(harmless, demoted=text)
    return harmless


def _worst(reports: list[NanReport]) -> NanReport:
    return max(
        reports,
        key=lambda report: (_matters(report), bool(report.origins), len(report.origins) + report.nonfinite),
    )


def _previous(run: RunIndex, graph_id: str, step: int) -> int | None:
    before = [at for at in run.steps_of(graph_id).step.tolist() if at < step]
    return before[-1] if before else None


def _span(run: RunIndex) -> str:
    steps = run.steps.step
    return f"Steps go from {steps[0]} to {steps[-1]}." if len(steps) else "There are no snapshots yet."


def _notes(flow: NonfiniteFlow, origins: list[Origin], step: int, previous: int | None) -> list[str]:
    notes = []
    if origins and origins[0].verdict == "carried":
        before = (
            "before the first captured step"
            if previous is None
            else f"between step {previous} and step {step}"
        )
        notes.append(
            f"{origins[0].tensor} was non-finite already when step {step} began: it happened {before}. "
            "Capture every step there (Watch(steps=every(1))) to see where."
        )
    if origins and origins[0].aftermath:
        notes.append(origins[0].aftermath)
    elif origins and flow.replaced:
        notes.append(f"{replacement_text(flow, list(flow.replaced))}.")
    if origins and origins[0].verdict == "suspected":
        notes.append(_capture_hint(flow, origins[0].missing))
    if origins and not any(origin.elements for origin in origins):
        tensors = flow.tensors
        why = missing_elements_note(tensors.run, origins[0].tensor, tensors.graph.id, step)
        notes += [why] if why else []
    return notes


def _capture_hint(flow: NonfiniteFlow, missing: list[str]) -> str:
    """What to capture where inputs of an origin were not captured."""
    if not missing:
        return "The graph does not say what the first origin was made of."
    text = "Inputs of the first origin were not captured, so it may lie further upstream."
    graph, hidden = flow.tensors.graph, uncaptured_functions(flow.tensors.run)
    rows = [graph.rows.get(name, graph.rows.get(name.rpartition(":")[0])) for name in missing[:2]]
    if any(row is not None and graph.function[row] in hidden for row in rows):
        return (
            f"{text} They are inside of a loop or branch that XLA compiles ({missing[0]}), where nothing can "
            "be captured: set jit_compile=False."
        )
    return f"{text} Capture them: Watch(nodes={'|'.join(missing[:2])!r})."


def rank_origins(flow: NonfiniteFlow, origins: Sequence[Origin]) -> list[Origin]:
    """Origins in the order of the report.

    Constants of the program come last (a mask is no culprit, what it does may be), before them what heals
    again. Of the others those of the forward pass come before those of the backward pass and what follows of
    it, then data flow decides; a loop is placed where its caller is, and inside an earlier visit comes first.
    """
    slots = {(origin.node, origin.tensor): _slot(flow, origin) for origin in origins}
    backward = [slot for slot in slots.values() if flow.tensors.roles.is_backward(slot[0])]
    behind = flow.descendants(backward)

    def key(origin: Origin) -> tuple[bool, bool, _DataFlowPlace]:
        slot = slots[origin.node, origin.tensor]
        place = (slot in behind, _outer(flow, slot[0]), origin.visit, int(flow.tensors.graph.order[slot[0]]))
        return origin.verdict == "constant", bool(origin.aftermath), place

    return sorted(origins, key=key)


def _slot(flow: NonfiniteFlow, origin: Origin) -> Slot:
    return flow.tensors.graph.rows[origin.node], int(origin.tensor.rpartition(":")[2])


def _outer(flow: NonfiniteFlow, row: int) -> int:
    """The place in the data flow of the outermost loop that a node is in; its own without one."""
    return int(flow.tensors.graph.order[dataflow_of(flow.tensors.graph).outermost(row)])
