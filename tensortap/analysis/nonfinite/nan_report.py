"""The NaN report: where NaN and infinities originate at a step of a run, and what they reach."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from weakref import WeakKeyDictionary

import numpy as np

from tensortap.core.errors import NotFoundError
from tensortap.core.progress import Advance, ignore_advance
from tensortap.index.query.search import Filters, find_rows
from tensortap.index.run_index import RunIndex

from ..model_graph.call_dataflow import dataflow_of
from ..model_graph.roles import Slot
from ..notes import coverage_note, missing_elements_note, raised_steps, uncaptured_functions
from .expected import nonfinite_gradient_text, replacement_text
from .nonfinite_flow import NonfiniteFlow
from .origin import Origin, describe_origin, with_details
from .path_to_loss import Link, path_to_loss
from .step_flow import NOT_CAPTURED, StepFlow, Tensor

DETAILED = 20  # origins whose source line and elements are looked up
MAX_ORIGINS = 400  # origins that are described at all
_DataFlowPlace = tuple[bool, int, int, int]


@dataclass(frozen=True, slots=True)
class NanReport:
    """Where non-finite values originate at a step.

    Attributes:
        run: its name. step: the step, None if no captured tensor of the run is non-finite.
        origins: in data flow order, those that matter. demoted: expected ones, each with its reason.
        chain: from the first origin to the loss. nonfinite, propagated: tensors; recovered: captured ones,
            finite, whose inputs are not.
        notes: sentences about what limits the answer, and what to capture to know more.
        graph, graph_name: of the first origin; graph_names: of all graphs with non-finite tensors, in the
            order they were called; worker: whose step; loss: the tensor taken for the loss, or None.
        previous: the captured step before, with the tensor of the first origin if there is one; or None.
    """

    run: str
    step: int | None
    graph: str
    graph_name: str
    graph_names: list[str]
    worker: str
    loss: str | None
    origins: list[Origin]
    demoted: list[Origin]
    chain: list[Link]
    nonfinite: int
    propagated: int
    recovered: int
    previous: int | None
    notes: list[str]


def nan_report(run: RunIndex, step: int | None = None, advance: Advance = ignore_advance) -> NanReport:
    """Follow the non-finite values of a step to their origins.

    Args:
        step: by default the first one with an origin that matters, or else the first one with any.
        advance: called with the progress; may raise to stop the work.

    Raises:
        NotFoundError: nothing was captured at that step.
    """
    report = _report(run, step, advance)
    raised = [] if report.step is None else raised_steps(run, report.step)
    new = [sentence for sentence in raised if not any(sentence in note for note in report.notes)]
    return replace(report, notes=[*new, *report.notes]) if new else report


def _report(run: RunIndex, step: int | None, advance: Advance) -> NanReport:
    if step is not None:
        if run.catalog.steps.code(step) is None:
            raise NotFoundError(f"The run has no snapshot at step {step}.", _span(run))
        reports = list(_reports(run, step, advance))
        return _worst(reports) if reports else empty_report(run, step)
    known = _FIRST.get(run)
    if known is not None and known[1] == _nonfinite_until(run, known[0]):
        return known[0]  # newer rows come after it
    report = _first_that_matters(run, advance)
    if report is None:
        return empty_report(run, None)
    if not _matters(report):
        return replace(report, notes=[*report.notes, coverage_note(run)])
    _FIRST[run] = report, _nonfinite_until(run, report)
    return report


def _first_that_matters(run: RunIndex, advance: Advance) -> NanReport | None:
    """The report on the first step with an origin that matters; else with origins that become finite again;
    else with any non-finite tensor."""
    fallback: NanReport | None = None
    candidates = steps_with_new_nonfinite(run)
    for number, candidate in enumerate(candidates):
        advance(number, len(candidates), f"step {candidate}")
        report = _worst(list(_reports(run, candidate, advance)))
        if _matters(report):
            return report
        if fallback is None or (report.origins and not fallback.origins):
            fallback = report
    return fallback


def _matters(report: NanReport) -> bool:
    """Whether an origin reaches the loss, gradients, weights or results without becoming finite."""
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
    return NanReport(run.name, step, "", "", [], "", None, [], [], [], 0, 0, 0, None, notes)


def steps_with_new_nonfinite(run: RunIndex) -> list[int]:
    """The steps at which a tensor had NaN, or infinities, for the first time; ascending."""
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
    """A report for each worker that has non-finite tensors at a step."""
    catalog = run.catalog
    rows = find_rows(run, Filters(steps=step, nonfinite=True))
    tensors, workers = catalog.column("tensor", rows), catalog.column("worker", rows)
    codes = catalog.tensors.columns(len(catalog.tensors))[0][tensors]
    for worker in np.unique(workers).tolist():
        mine = np.unique(codes[workers == worker]).tolist()
        graphs = [catalog.tensors.graphs[code] or "-" for code in mine]
        yield step_report(StepFlow(run, step, worker, graphs), advance)


def step_report(step: StepFlow, advance: Advance = ignore_advance) -> NanReport:
    """The report on the tensors of one worker at a step: all its calls in one order."""
    described, found = _described(step, advance)
    origins = rank_origins(step, [origin for origin in described if not origin.demoted])
    detailed = origins.copy()
    for number, origin in enumerate(origins[:DETAILED]):
        advance(number, min(len(origins), DETAILED), origin.node)
        detailed[number] = with_details(step, origin)
    first = step.flows[detailed[0].graph if detailed else next(iter(step.flows))]
    graph, roles = first.tensors.graph, first.tensors.roles
    path = path_to_loss(step, _tensor(step, detailed[0])) if detailed else []
    loss = None if roles.loss is None else f"{graph.names[roles.loss]}:0"
    if path and step.is_loss((path[-1].graph, _slot(step, path[-1].graph, path[-1].tensor))):
        loss = path[-1].tensor
    latest = _previous(step.run, graph.id, step.step)
    previous = _captured_before(first, detailed[0].tensor, step.step) if detailed else latest
    nonfinite = sum(len(flow.bad) for flow in step.flows.values())
    return NanReport(
        run=step.run.name,
        step=step.step,
        graph=graph.id,
        graph_name=graph.name,
        graph_names=[flow.tensors.graph.name for flow in step.flows.values()],
        worker=first.tensors.worker,
        loss=loss,
        origins=detailed,
        demoted=[_with_gradient_note(first, origin, origins) for origin in described if origin.demoted],
        chain=path,
        nonfinite=nonfinite,
        propagated=nonfinite - found,
        recovered=len({recovery.tensor for origin in described for recovery in origin.ends.healers}),
        previous=previous,
        notes=_notes(first, detailed, step.step, previous, latest),
    )


def _described(step: StepFlow, advance: Advance) -> tuple[list[Origin], int]:
    """The origins, and how many there are."""
    reached, found = step.reached(), list[Origin]()
    for number, ((graph, slot), reach) in enumerate(reached.items()):
        if number == MAX_ORIGINS:
            break
        flow = step.flows[graph]
        advance(number, min(len(reached), MAX_ORIGINS), flow.tensors.name(slot))
        found.append(describe_origin(step, graph, flow.bad[slot], reach))
    return found, len(reached)


def _with_gradient_note(flow: NonfiniteFlow, expected: Origin, origins: list[Origin]) -> Origin:
    """An origin without effect on the loss, with a note if the gradient of its op matters."""
    loss = flow.tensors.roles.loss
    for origin in origins:
        if origin.forward is not None and origin.forward.node == expected.node:
            finite = loss is not None and flow.is_finite(loss)
            text = nonfinite_gradient_text(expected.demoted, origin.tensor, loss_finite=finite)
            return replace(expected, demoted=text)
    return expected


def _worst(reports: list[NanReport]) -> NanReport:
    return max(
        reports,
        key=lambda report: (_matters(report), bool(report.origins), len(report.origins) + report.nonfinite),
    )


def _previous(run: RunIndex, graph_id: str, step: int) -> int | None:
    before = [at for at in run.steps_of(graph_id).step.tolist() if at < step]
    return before[-1] if before else None


def _captured_before(flow: NonfiniteFlow, tensor: str, step: int) -> int | None:
    """The latest step before `step` at which a tensor was captured."""
    tensors = flow.tensors
    rows = find_rows(tensors.run, Filters(graph=tensors.graph.id, tensor=tensor, steps=(0, step)))
    return int(tensors.run.catalog.column("step", rows).max()) if len(rows) else None


def _span(run: RunIndex) -> str:
    steps = run.steps.step
    return f"Steps go from {steps[0]} to {steps[-1]}." if len(steps) else "There are no snapshots yet."


def _notes(
    flow: NonfiniteFlow, origins: list[Origin], step: int, previous: int | None, latest: int | None
) -> list[str]:
    """`previous`: the captured step before with the first origin. `latest`: with any tensor of its graph."""
    notes = []
    if origins and origins[0].verdict == "from_variable" and origins[0].explanation is None:
        since = (
            "before the first captured step"
            if previous is None
            else f"between step {previous} and step {step}"
        )
        notes.append(
            f"{origins[0].tensor} was already non-finite at the start of step {step}; it became so "
            f"{since}. Capture every step: Watch(steps=1) and no budget."
        )
    if previous != latest:  # a budget, or another watch, selects fewer tensors of some steps
        tensor = origins[0].tensor
        notes.append(f"{tensor} was not captured at step {latest}, so it may have become non-finite earlier.")
    if origins and origins[0].aftermath:
        notes.append(origins[0].aftermath)
    elif origins and flow.replaced:
        notes.append(f"{replacement_text(flow, list(flow.replaced))}.")
    if origins and origins[0].verdict == "suspected" and not _is_entry(origins[0]):
        notes.append(_capture_hint(flow, origins[0].missing))
    if origins and not any(origin.elements for origin in origins):
        tensors = flow.tensors
        why = missing_elements_note(tensors.run, origins[0].tensor, tensors.graph.id, step)
        notes += [why] if why else []
    return notes


def _is_entry(origin: Origin) -> bool:
    """Whether the explanation of an origin names the uncaptured tensors, and how to capture them."""
    return origin.explanation is not None and origin.explanation.pattern == NOT_CAPTURED


def _capture_hint(flow: NonfiniteFlow, missing: list[str]) -> str:
    """Suggests what to capture if inputs of an origin were not captured."""
    if not missing:
        return "The graph does not show the inputs of the first origin."
    text = "Inputs of the first origin were not captured, so it may be further upstream."
    graph, hidden = flow.tensors.graph, uncaptured_functions(flow.tensors.run)
    rows = [graph.rows.get(name, graph.rows.get(name.rpartition(":")[0])) for name in missing[:2]]
    if any(row is not None and graph.function[row] in hidden for row in rows):
        return (
            f"{text} They are inside a loop or branch that XLA compiles ({missing[0]}): set "
            "jit_compile=False to capture them."
        )
    sources = (source for bad in flow.bad.values() for source in bad.sources if source.why == "iteration")
    if any(flow.tensors.name(source.slot) in missing for source in sources):
        return f"{text} The previous iteration was skipped: capture all with Watch(visits=None)."
    return f"{text} Capture them: Watch(nodes={'|'.join(missing[:2])!r})."


def rank_origins(step: StepFlow, origins: Sequence[Origin]) -> list[Origin]:
    """Origins in the order of the report.

    Constants of the program come last (a mask is not a fault, its consequences may be), after origins that
    become finite again. Of the others those of the first call come first; of one call those of the forward
    pass before those of the backward pass and what follows of it, then data flow decides; a loop is placed
    where its caller is, and inside an earlier visit comes first.
    """
    after: dict[str, dict[Slot, Slot | None]] = {}
    for name, flow in step.flows.items():
        slots = [_tensor(step, origin)[1] for origin in origins if origin.graph == name]
        after[name] = flow.descendants(slot for slot in slots if flow.tensors.roles.is_backward(slot[0]))

    def key(origin: Origin) -> tuple[bool, bool, float, _DataFlowPlace]:
        graph, slot = _tensor(step, origin)
        flow = step.flows[graph]
        place = int(flow.tensors.graph.order[slot[0]])
        order = step.order(graph, flow.bad[slot])
        in_call = slot in after[graph], _outer(flow, slot[0]), origin.visit, place
        return origin.verdict == "constant", bool(origin.aftermath), order, in_call

    return sorted(origins, key=key)


def _tensor(step: StepFlow, origin: Origin) -> Tensor:
    return origin.graph, _slot(step, origin.graph, origin.tensor)


def _slot(step: StepFlow, graph: str, tensor: str) -> Slot:
    node, _, slot = tensor.rpartition(":")
    return step.flows[graph].tensors.graph.rows[node], int(slot)


def _outer(flow: NonfiniteFlow, row: int) -> int:
    """The place in the data flow of the outermost loop that a node is in; its own without one."""
    return int(flow.tensors.graph.order[dataflow_of(flow.tensors.graph).outermost(row)])
