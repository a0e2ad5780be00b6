"""The chain: the shortest path from an origin to the loss, or to what else it reaches."""

from __future__ import annotations

from dataclasses import dataclass

from ..model_graph.roles import Slot
from .nonfinite_flow import NonfiniteFlow

MAX_LINKS = 500


@dataclass(frozen=True, slots=True)
class Link:
    """One non-finite tensor of the chain; `nan`, `inf`: how many of `size`, at the first `visit` with any."""

    tensor: str
    node: str
    op_type: str
    layer: str
    nan: int
    inf: int
    size: int
    verdict: str
    visit: int


def chain(flow: NonfiniteFlow, origin: Slot) -> list[Link]:
    """From an origin to the loss; where it does not reach it to the first gradient, weight, or to the last
    non-finite tensor in the data flow. The origin itself comes first."""
    before = flow.descendants([origin])
    goal: Slot | None = _goal(flow, list(before))
    slots = list[Slot]()
    while goal is not None and len(slots) < MAX_LINKS:
        slots.append(goal)
        goal = before[goal]
    return [_link(flow, slot) for slot in reversed(slots)]


def _goal(flow: NonfiniteFlow, slots: list[Slot]) -> Slot:
    roles, order = flow.tensors.roles, flow.tensors.graph.order
    slots = sorted(slots, key=lambda slot: int(order[slot[0]]))
    wanted = (
        lambda slot: slot[0] == roles.loss,
        lambda slot: roles.kind.get(slot[0]) == "gradient" or slot in flow.replaced,
        lambda slot: roles.kind.get(slot[0]) == "weight",
    )
    return next((slot for test in wanted for slot in slots if test(slot)), slots[-1])


def _link(flow: NonfiniteFlow, slot: Slot) -> Link:
    graph, bad = flow.tensors.graph, flow.bad[slot]
    found = flow.tensors.snapshot(slot, bad.visit)
    return Link(
        tensor=found.tensor,
        node=found.node,
        op_type=graph.op_type[slot[0]],
        layer=graph.layer[slot[0]],
        nan=found.nan,
        inf=found.pos_inf + found.neg_inf,
        size=found.size,
        verdict=bad.verdict,
        visit=bad.visit,
    )
