"""Which captured scalars are learning rates: variables of that name, and what schedules compute."""

from __future__ import annotations

import re
from collections import deque

from tensortap.core.dtypes import is_real_floating

from ...model_graph.roles import Roles, TensorRole, first_input
from ...run_view.run_view import RunView

_COUNTERS = ("iteration", "iterations", "global_step")
_WHOLE = ("int", "uint")
_NUMBER = re.compile(r"_\d+(?=/|$)")
_MOST = 200  # nodes that a schedule may have
_DEEP = 4  # nodes between a constant and where it is used


def learning_rates(view: RunView) -> list[TensorRole]:
    """The learning rates of each graph, each once: variables of that name, and scalars that are computed from
    an optimizer's count of steps alone and that an update takes."""
    found: dict[tuple[str, str], TensorRole] = {}
    for tensor in view.where(lambda t: t.variable.endswith("learning_rate") and t.slot == 0):
        found.setdefault((tensor.graph, tensor.variable), tensor)  # read once for each weight
    computed = {graph: _scheduled(view.roles(graph)) for graph in {tensor.graph for tensor in view.tensors}}
    for tensor in view.where(lambda t: t.slot == 0 and t.row in computed[t.graph]):
        found.setdefault((tensor.graph, _NUMBER.sub("", tensor.node)), tensor)  # computed for each weight
    return list(found.values())


def _scheduled(roles: Roles) -> set[int]:
    """Rows of the scalars that schedules end in; none where several different ones could be it (Nadam
    computes its momentum from the count, too).

    Keras gives a schedule the count of steps, and corrects the bias of moments by that count + 1: what adds
    whole numbers to it is not followed.
    """
    graph = roles.graph
    reads = [
        row for row in roles.variable if graph.op_type[row] == "ReadVariableOp" and _counts_steps(roles, row)
    ]
    if not reads:
        return set()
    clock = _computed_from(roles, reads)
    ends = {row for row in clock if is_real_floating(graph.dtype[row]) and _is_taken(roles, row, clock)}
    scopes: dict[str, set[str]] = {}
    for row in ends:
        name = _NUMBER.sub("", graph.names[row])
        scopes.setdefault(name.partition("/")[0], set()).add(name)
    return {row for row in ends if len(scopes[_NUMBER.sub("", graph.names[row]).partition("/")[0]]) == 1}


def _counts_steps(roles: Roles, row: int) -> bool:
    return roles.variable.get(row, "").rpartition("/")[2] in _COUNTERS


def _computed_from(roles: Roles, reads: list[int]) -> set[int]:
    """The scalars that are computed of a count and constants, through casts and floating point ops."""
    graph, found = roles.graph, set(reads)
    waiting = deque(reads)
    while waiting and len(found) < _MOST:
        for row in roles.consumers(waiting.popleft()):
            whole = graph.op_type[row] != "Cast" and graph.dtype[row].startswith(_WHOLE)
            if row in found or whole or graph.shape[row] != "scalar" or roles.is_backward(row):
                continue
            sources = [source for source, _, _ in roles.inputs(row)]
            if all(source in found or _is_constant(roles, source) for source in sources):
                found.add(row)
                waiting.append(row)
    return found


def _is_constant(roles: Roles, row: int, depth: int = _DEEP) -> bool:
    """Whether a node gives the same at every step: a constant, what is made of some, a variable that is
    neither trained nor counts steps."""
    if roles.graph.op_type[row] == "ReadVariableOp":
        return roles.kind.get(row) != "weight" and not _counts_steps(roles, row)
    sources = roles.inputs(row)
    if not sources:
        return roles.graph.op_type[row] == "Const"
    return depth > 0 and all(_is_constant(roles, source, depth - 1) for source, _, _ in sources)


def _is_taken(roles: Roles, row: int, clock: set[int]) -> bool:
    """Whether something else than the schedule takes a scalar and changes trained weights by it, and the
    backward pass does not: that would be a weight of the loss."""
    takers = [user for user in roles.consumers(row) if user not in clock]
    return not any(map(roles.is_backward, takers)) and _trains(roles, takers)


def _trains(roles: Roles, takers: list[int]) -> bool:
    """Whether some nodes lead to an update of a variable that gets a gradient, also through other variables
    (momentum), but not through the loss, the backward pass or a comparison (an exploration rate)."""
    seen, waiting = set(takers), list(takers)
    while waiting:
        row = waiting.pop()
        if row == roles.loss or roles.is_backward(row) or roles.graph.dtype[row] == "bool":
            continue
        users = roles.consumers(row)
        if roles.is_update(row):
            handle = first_input(roles, row)
            of_handle = roles.consumers(handle)
            if any(roles.variable.get(each) in roles.trained for each in (handle, *of_handle)):
                return True
            users += [user for user in of_handle if roles.graph.op_type[user] == "ReadVariableOp"]
        waiting += [user for user in users if user not in seen]
        seen.update(users)
    return False
