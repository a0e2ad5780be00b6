"""A difference that only arguments of a call show began in an earlier call of the step."""

from __future__ import annotations

from collections.abc import Iterable

from ...model_graph.roles import Slot
from ...nonfinite.step_calls import StepCalls, is_graph_input
from ..comparison_records import TensorDifference
from .conditioning import Flow, ancestors, programs_differ


def comes_from_call(calls: StepCalls, entry: TensorDifference) -> bool:
    """Whether a tensor is an argument computed from results of other calls of the step."""
    slot = _slot(calls, entry)
    if not is_graph_input(calls.tensors(entry.graph), slot):
        return False
    source = calls.argument(entry.graph, slot, _call(calls, entry))
    return bool(source.results or source.functions)


def _slot(calls: StepCalls, entry: TensorDifference) -> Slot:
    return calls.tensors(entry.graph).graph.rows[entry.node], int(entry.tensor.rpartition(":")[2])


def _call(calls: StepCalls, entry: TensorDifference) -> int:
    return calls.call_of(entry.graph, _slot(calls, entry), entry.visit or 0)


def beginning_in_calls(
    arguments: list[TensorDifference],
    flows: list[Flow],
    tensors: list[TensorDifference],
    calls: StepCalls,
) -> list[TensorDifference]:
    """Where a difference begins of which only arguments computed by other calls diverge: in those calls, the
    earliest tensor where the programs differ, though rounding would explain its difference. Empty if an
    ill-conditioned op of those calls explains it, else the arguments.

    Args:
        tensors: in data flow order. calls: those of the step of A.
    """
    by_graph = {flow[0].a.id: flow for flow in flows}
    rows = _upstream(arguments, by_graph, calls)
    earlier = [
        entry
        for entry in tensors
        if entry.verdict != "same" and by_graph[entry.graph][0].a.rows[entry.node] in rows[entry.graph]
    ]
    for entry in earlier:
        if programs_differ(by_graph[entry.graph], entry):
            return [entry]
    return [] if any(entry.verdict == "amplified" for entry in earlier) else arguments


def _upstream(
    arguments: Iterable[TensorDifference], flows: dict[str, Flow], calls: StepCalls
) -> dict[str, set[int]]:
    """The nodes of each graph that arguments are computed from in earlier calls."""
    found: dict[str, set[int]] = {graph: set() for graph in flows}
    waiting = [(entry.graph, _slot(calls, entry), _call(calls, entry)) for entry in arguments]
    while waiting:
        for result in calls.argument(*waiting.pop()).results:
            if result.graph not in flows or result.slot[0] in found[result.graph]:
                continue
            new = {result.slot[0], *ancestors(result.slot[0], flows[result.graph])} - found[result.graph]
            found[result.graph] |= new
            taken = calls.tensors(result.graph)
            taken_by = ((row, 0) for row in new if is_graph_input(taken, (row, 0)))
            waiting += [(result.graph, slot, result.visit or 0) for slot in taken_by]
    return found
