"""The inputs of a tensor that differs, at the visit at which it does."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import NamedTuple, Protocol

from ...model_graph.call_dataflow import dataflow_of
from ...model_graph.op_types import constant_text
from ...model_graph.roles import Slot, roles_of
from ..comparison_records import TensorDifference
from ..matching.node_matching import Matching

_MAX_WAY = 1000  # arguments and calls, one behind the other


class InputTensor(NamedTuple):
    """A tensor that a node takes. `visit`: at which it was made; None where visits are not comparable."""

    slot: Slot
    visit: int | None


class ComparedTensors(Protocol):
    """The tensors that were compared at a step."""

    def captured(self, graph: str, slot: Slot) -> bool:
        """Whether both sides captured a tensor of a graph of A."""

    def at(self, graph: str, slot: Slot, visit: int | None) -> TensorDifference:
        """A captured tensor at a visit; without one, or if it was not captured then, at its worst."""


def compared_inputs(
    matching: Matching, entry: TensorDifference, known: ComparedTensors
) -> tuple[list[InputTensor], list[str]]:
    """What a tensor of A is made of: what both sides captured, and the names of what they did not.

    Arguments of functions are followed to what is passed, those of a loop also to what its body returned the
    visit before. Constants that both graphs write out alike need no capture.
    """
    graph, row = matching.a, matching.a.rows[entry.node]
    waiting = deque(
        InputTensor((source, slot), _visit(matching, source, row, entry.visit))
        for source, slot, _ in roles_of(graph).inputs(row)
    )
    found, missing = dict[InputTensor, None](), dict[str, None]()
    seen = set[InputTensor]()
    while waiting and len(seen) < _MAX_WAY:
        at = waiting.popleft()
        if at in seen:
            continue
        seen.add(at)
        if known.captured(graph.id, at.slot):
            found[at] = None
            continue
        further = list(_passed(matching, at))
        waiting += further
        if not further and not _same_constant(matching, at.slot[0]):
            missing[f"{graph.names[at.slot[0]]}:{at.slot[1]}"] = None
    return list(found), list(missing)


def _visit(matching: Matching, source: int, row: int, visit: int | None) -> int | None:
    """Visits are comparable within a loop's function only."""
    function = matching.a.function
    inside = function.codes[source] == function.codes[row]
    return visit if inside and dataflow_of(matching.a).in_a_loop(function[row]) else None


def _passed(matching: Matching, at: InputTensor) -> Iterator[InputTensor]:
    """What is passed as an argument, or returned by what a node calls."""
    passing = dataflow_of(matching.a)
    if matching.a.op_type[at.slot[0]] == "_Arg":
        yield from (InputTensor(*passed) for passed in passing.passed(at.slot[0], at.visit))
    else:
        yield from (InputTensor(slot, None) for slot in passing.returned(at.slot))


def _same_constant(matching: Matching, row: int) -> bool:
    """Whether a node is a constant whose elements both graphs write out alike."""
    partner = matching.partner.get(row)
    if partner is None or matching.a.op_type[row] != "Const":
        return False
    text = constant_text(roles_of(matching.a).attributes(row))
    return text is not None and text == constant_text(roles_of(matching.b).attributes(partner))
