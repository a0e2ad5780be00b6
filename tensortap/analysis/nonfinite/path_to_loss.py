"""The path from an origin to the loss, through the calls of a step."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

from .step_flow import StepFlow, Tensor

MAX_LINKS = 500


@dataclass(frozen=True, slots=True)
class Link:
    """One non-finite tensor of the chain; `nan`, `inf`: how many of `size`, at the first `visit` with any;
    `graph`: its id."""

    tensor: str
    node: str
    op_type: str
    layer: str
    nan: int
    inf: int
    size: int
    verdict: str
    visit: int
    graph: str


def path_to_loss(step: StepFlow, origin: Tensor) -> list[Link]:
    """From an origin to the loss; where it does not reach it to the first gradient, weight, or to the last
    non-finite tensor in the data flow. The origin itself comes first."""
    before: dict[Tensor, Tensor | None] = {origin: None}
    waiting = deque([origin])
    while waiting:
        tensor = waiting.popleft()
        for taker in _takers(step, tensor):
            if taker not in before:
                before[taker] = tensor
                waiting.append(taker)
    goal: Tensor | None = _goal(step, list(before))
    found = list[Tensor]()
    while goal is not None and len(found) < MAX_LINKS:
        found.append(goal)
        goal = before[goal]
    return [_link(step, tensor) for tensor in reversed(found)]


def _takers(step: StepFlow, tensor: Tensor) -> Iterator[Tensor]:
    graph, slot = tensor
    for child in step.flows[graph].children.get(slot, ()):
        yield graph, child
    yield from step.takers.get(tensor, ())


def _goal(step: StepFlow, tensors: list[Tensor]) -> Tensor:
    def place(tensor: Tensor) -> tuple[float, int]:
        graph, slot = tensor
        flow = step.flows[graph]
        return step.order(graph, flow.bad[slot]), int(flow.tensors.graph.order[slot[0]])

    tensors = sorted(tensors, key=place)
    wanted = (step.is_loss, step.is_gradient, step.is_weight)
    return next((tensor for test in wanted for tensor in tensors if test(tensor)), tensors[-1])


def _link(step: StepFlow, tensor: Tensor) -> Link:
    graph, slot = tensor
    flow = step.flows[graph]
    bad = flow.bad[slot]
    found = flow.tensors.snapshot(slot, bad.visit)
    return Link(
        tensor=found.tensor,
        node=found.node,
        op_type=flow.tensors.graph.op_type[slot[0]],
        layer=flow.tensors.graph.layer[slot[0]],
        nan=found.nan,
        inf=found.pos_inf + found.neg_inf,
        size=found.size,
        verdict=bad.verdict,
        visit=bad.visit,
        graph=graph,
    )
