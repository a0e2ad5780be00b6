"""An origin: the first tensor with non-finite values, with its inputs and explanation."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from tensortap.core.text import number_text
from tensortap.index.graph.edges import RETURNED
from tensortap.index.query.node_detail import FrameDetail, source_line

from ..dtype_limits import largest
from .elements.trace import ElementTrace, elementwise, trace_elements
from .expected import discard_text, expected_reason, recovery_text
from .explanation import Explanation, explain_input_data
from .forward_op import Forward, explain_gradient, forward_op_of
from .nonfinite_flow import FlowTensor, NonfiniteFlow
from .operand import Operand, of_snapshot, unknown
from .patterns.pattern_table import explain
from .reach import Impact, Reached
from .step_flow import StepFlow
from .upstream import Source


@dataclass(frozen=True, slots=True)
class Origin:
    """A non-finite tensor whose NaN and infinities were not only propagated from its inputs.

    Attributes:
        tensor, node, graph, op_type, layer, step, visit, worker: where.
        verdict: one of `VERDICTS` but `propagated`. output, inputs: what is known of the tensors (an input's
            `known` is False where it was not captured).
        explanation: the known pattern, or None. demoted: why it is expected, a sentence, or empty.
        aftermath: a sentence on how an unintended infinity becomes finite again before it matters, or how
            the program keeps it out of the weights; or empty.
        missing: what would have to be captured to be sure: tensor and node names.
        ends: what its descendants reach; reached: how many non-finite tensors they are.
        frame: the innermost line of user code that made the node, or, of a node of the backward pass, that
            made the op whose gradient it is; None if unknown.
        forward: that op, or None.
        elements: the offending elements, if values were stored.
        made_by: the op between calls that made it, where the numbers prove that; else empty.
        variable: path of the variable that the tensor is read from, or empty.
    """

    tensor: str
    node: str
    graph: str
    op_type: str
    layer: str
    step: int
    visit: int
    worker: str
    verdict: str
    output: Operand
    inputs: list[Operand]
    explanation: Explanation | None
    demoted: str
    aftermath: str
    missing: list[str]
    ends: Impact
    reached: int
    frame: FrameDetail | None
    forward: Forward | None
    elements: list[ElementTrace]
    made_by: str = ""
    variable: str = ""


def describe_origin(step: StepFlow, graph_id: str, bad: FlowTensor, reached: Reached) -> Origin:
    """Describes an origin without reading values."""
    flow, entry = step.flows[graph_id], step.entries.get((graph_id, bad.slot))
    tensors, graph = flow.tensors, flow.tensors.graph
    row, slot = bad.slot
    output = of_snapshot(tensors.snapshot(bad.slot, bad.visit))
    data = bad.verdict == "data"
    # The source of the data is not a tensor.
    inputs = [] if data else [_as_saved(step, graph_id, operand) for operand in operands(flow, bad)]
    explained = bad.verdict in ("origin", "suspected", "inf_to_nan")
    explanation = (
        explain(graph.op_type[row], inputs, output)
        if explained
        else explain_input_data(output)
        if data
        else None
    )
    forward = forward_op_of(flow, row) if explained and entry is None else None
    if entry is not None:
        explanation, inputs = entry.explanation, list(entry.inputs)
    elif forward is not None:
        explanation = explain_gradient(explanation, forward, inputs)
    return Origin(
        tensor=tensors.name((row, slot)),
        node=graph.names[row],
        graph=graph.id,
        op_type=graph.op_type[row],
        layer=graph.layer[row],
        step=tensors.step,
        visit=bad.visit,
        worker=tensors.worker,
        verdict=bad.verdict,
        output=output,
        inputs=inputs,
        explanation=explanation,
        demoted=expected_reason(flow, bad, reached),
        aftermath=recovery_text(flow, bad, reached) or discard_text(flow, bad, reached),
        missing=_missing(flow, bad) if entry is None else list(entry.missing),
        made_by="" if entry is None else entry.made_by,
        variable=tensors.roles.read_variable(row),
        ends=reached.ends,
        reached=reached.count - 1,
        frame=None,
        forward=forward,
        elements=[],
    )


def with_details(step: StepFlow, origin: Origin) -> Origin:
    """The origin with its source line and, if values were stored, the offending elements."""
    flow = step.flows[origin.graph]
    tensors = flow.tensors
    forward = origin.forward
    if forward is not None:
        forward = replace(forward, frame=_line(flow, forward.node))
    bad = flow.bad[tensors.graph.rows[origin.node], int(origin.tensor.rpartition(":")[2])]
    return replace(
        origin,
        frame=forward.frame if forward and forward.frame else _line(flow, origin.node),
        forward=forward,
        elements=[_trace_as_saved(step, origin.graph, trace) for trace in trace_elements(flow, bad)],
        explanation=_proven(flow, bad, origin.explanation),
    )


def _as_saved(step: StepFlow, graph: str, operand: Operand) -> Operand:
    """An argument of a backward function as the tensor of the call that computed it; others as they are."""
    saved = step.saved_tensor(graph, operand.tensor, operand.visit)
    if saved is None:
        return operand
    snapshot = step.calls.tensors(saved.graph).snapshot(saved.slot, saved.visit)
    return replace(of_snapshot(snapshot), graph=saved.graph)


def _trace_as_saved(step: StepFlow, graph: str, trace: ElementTrace) -> ElementTrace:
    """A trace whose elements of arguments are those of the tensors that they are in the earlier calls."""
    trail = []
    for element in trace.trail:
        saved = step.saved_tensor(graph, element.tensor, element.visit)
        if saved is None:
            trail.append(element)
            continue
        tensors = step.calls.tensors(saved.graph)
        row, index = saved.slot[0], tensors.graph
        place = replace(element, tensor=tensors.name(saved.slot), node=index.names[row], graph=saved.graph)
        place = replace(place, op_type=index.op_type[row], layer=index.layer[row])
        trail.append(replace(place, visit=tensors.snapshot(saved.slot, saved.visit).visit))
    return replace(trace, trail=trail)


def _line(flow: NonfiniteFlow, node: str) -> FrameDetail | None:
    return source_line(flow.tensors.run, node, flow.tensors.graph.id)


def operands(flow: NonfiniteFlow, bad: FlowTensor) -> list[Operand]:
    """Operands of a node, in order, under the names the node knows them by."""
    by_position: dict[int, list[Source]] = {}
    for source in bad.sources:
        by_position.setdefault(source.position, []).append(source)
    found = []
    for row, slot, position in flow.tensors.roles.inputs(bad.slot[0]):
        if position == RETURNED:
            continue
        telling = _source_of_input(by_position.get(position, []))
        if telling is None and flow.tensors.graph.op_type[row] == "Const":
            found.append(flow.upstream.constant(row))
        elif telling is None:
            found.append(unknown(flow.tensors.name((row, slot))))
        else:
            found.append(
                flow.upstream.operand(
                    telling, flow.upstream.visit_of(telling.slot[0], bad.slot[0], bad.visit)
                )
            )
    return found


def _source_of_input(sources: list[Source]) -> Source | None:
    """The source of an input's value: the non-finite one, else the last (the value that a loop forwarded)."""
    direct = [source for source in sources if not source.uncaptured]
    return next((source for source in direct if source.bad), direct[-1] if direct else None)


def _missing(flow: NonfiniteFlow, bad: FlowTensor) -> list[str]:
    names: dict[str, None] = {}
    for source in bad.missing:
        for row in source.uncaptured:
            names[flow.tensors.graph.names[row]] = None
        if not (source.captured or source.why == "constant"):
            names[flow.tensors.name(source.slot)] = None
    return list(names)[:20]


def _proven(flow: NonfiniteFlow, bad: FlowTensor, explanation: Explanation | None) -> Explanation | None:
    """The explanation of a quotient or power, certain if one of its elements shows that it is so."""
    if explanation is None or explanation.certain:
        return explanation
    if explanation.pattern not in ("0/0", "division overflow", "pow"):
        return explanation
    end = largest(flow.tensors.snapshot(bad.slot, bad.visit).dtype)
    for index, operands in elementwise(flow, bad):
        if len(operands) != 2:
            continue
        (x, y), place = operands, f"[{', '.join(map(str, index))}]"
        if explanation.pattern == "0/0" and x == y == 0:
            return replace(explanation, certain=True, text=f"{explanation.text} Both are 0 at {place}.")
        if explanation.pattern == "division overflow" and y and abs(x) / abs(y) > end:
            text = f"{explanation.text} At {place} it is {number_text(x)} / {number_text(y)}."
            return replace(explanation, certain=True, text=text)
        if explanation.pattern == "pow" and np.isfinite((x, y)).all() and _power(x, y) > end:
            text = f"{explanation.text} At {place} it is {number_text(x)} ** {number_text(y)}."
            return replace(explanation, certain=True, text=text)
    return explanation


def _power(x: float, y: float) -> float:
    with np.errstate(all="ignore"):
        return float(np.abs(np.float64(x)) ** np.float64(y))
