"""In which order births are told: what comes first in the data flow first, what is harmed least last."""

from __future__ import annotations

from collections.abc import Sequence

from ..model_graph.call_dataflow import passing_of
from .origin import Birth
from .propagation import BadFlow
from .step_tensors import Slot

_Place = tuple[bool, int, int, int]


def ranked(flow: BadFlow, births: Sequence[Birth]) -> list[Birth]:
    """Births in the order in which they are told.

    Constants of the program come last (a mask is no culprit, what it does may be), before them what heals
    again. Of the others those of the forward pass come before those of the backward pass and what follows of
    it, then data flow decides; a loop is placed where its caller is, and inside an earlier visit comes first.
    """
    slots = {(birth.node, birth.tensor): _slot(flow, birth) for birth in births}
    backward = [slot for slot in slots.values() if flow.tensors.roles.is_backward(slot[0])]
    behind = flow.descendants(backward)

    def key(birth: Birth) -> tuple[bool, bool, _Place]:
        slot = slots[birth.node, birth.tensor]
        place = (slot in behind, _outer(flow, slot[0]), birth.visit, int(flow.tensors.graph.order[slot[0]]))
        return birth.verdict == "constant", bool(birth.aftermath), place

    return sorted(births, key=key)


def _slot(flow: BadFlow, birth: Birth) -> Slot:
    return flow.tensors.graph.rows[birth.node], int(birth.tensor.rpartition(":")[2])


def _outer(flow: BadFlow, row: int) -> int:
    """The place in the data flow of the outermost loop that a node is in; its own without one."""
    return int(flow.tensors.graph.order[passing_of(flow.tensors.graph).outermost(row)])
