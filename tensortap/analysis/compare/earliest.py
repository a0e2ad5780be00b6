"""Which of several tensors that diverge is told first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tensortap.core.dtypes import is_floating

from ..model_graph.call_dataflow import passing_of
from ..model_graph.node_roles import roles_of
from ..model_graph.op_sets import ops
from .matching.match import Matching
from .model import TensorDifference
from .propagation.flow_graph import VARIABLES
from .propagation.inputs import Known, taken

ENTRIES = ops("_Arg Placeholder PlaceholderWithDefault IteratorGetNext OptionalGetValue")


def earliest(
    found: Iterable[TensorDifference],
    matchings: Mapping[str, Matching],
    known: Known,
) -> TensorDifference:
    """The tensor where the difference begins: none of them is made of another one, so that data flow order
    alone would tell the one whose node happens to be listed first.

    What enters the step (data, weights) comes first, then the forward pass before the backward one, and in
    both numbers that are computed with before the whole numbers that shapes are worked out with. What is
    known to be made of equal things comes before what takes something that was not captured. A loop is placed
    where its caller is, and of its nodes an earlier visit comes first.

    Args:
        found: in data flow order, at least one. matchings: by the id of A's graph. known: what was compared.
    """
    found = list(found)
    graphs = list(matchings)

    def unsure(entry: TensorDifference) -> bool:
        return bool(taken(matchings[entry.graph], entry, known)[1])

    def key(entry: TensorDifference) -> tuple[int, bool, int, int]:
        matching = matchings[entry.graph]
        outer = passing_of(matching.a).outermost(matching.a.rows[entry.node])
        place = int(matching.a.order[outer])
        return rank(entry, matching), unsure(entry), graphs.index(entry.graph), place

    first = min(found, key=key)
    if first.visits < 2:
        return first
    function = _function(matchings[first.graph], first)
    loop = [
        entry
        for entry in found
        if entry.graph == first.graph
        and entry.visits > 1
        and _function(matchings[first.graph], entry) == function
    ]
    return min(loop, key=lambda entry: (entry.visit, unsure(entry), entry.order))


def rank(entry: TensorDifference, matching: Matching) -> int:
    """0 for what enters the step; then forward before backward, floats before whole numbers."""
    roles, row = roles_of(matching.a), matching.a.rows[entry.node]
    called = entry.op_type == "_Arg" and bool(roles.inputs(row))
    if (entry.op_type in VARIABLES | ENTRIES and not called) or roles.kind.get(row) in ("input", "weight"):
        return 0
    return 1 + 2 * roles.is_backward(row) + (not is_floating(entry.dtype_a))


def _function(matching: Matching, entry: TensorDifference) -> str:
    return matching.a.function[matching.a.rows[entry.node]]
