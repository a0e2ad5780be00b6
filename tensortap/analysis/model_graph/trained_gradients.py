"""The gradient of each variable that rules compare: one for each, where several are made of one another."""

from __future__ import annotations

from collections import deque

from ..run_view.run_view import RunView
from .node_roles import Roles
from .tensor_role import TensorRole

_MOST = 200  # nodes between a gradient and the one that it is made of


def trained_gradients(view: RunView) -> list[TensorRole]:
    """The captured gradients. Where one is made of another one of the same variable (without the loss scale,
    clipped), the last counts: that is what weights are changed by, and its size can be compared."""
    return view.once("trained gradients", lambda: _last_ones(view))


def _last_ones(view: RunView) -> list[TensorRole]:
    by_variable: dict[tuple[str, str], list[TensorRole]] = {}
    for tensor in view.of_kind("gradient"):
        by_variable.setdefault((tensor.graph, tensor.variable), []).append(tensor)
    earlier = set[int]()
    for (graph, variable), tensors in by_variable.items():
        if variable and len(tensors) > 1:
            rows = {tensor.row for tensor in tensors}
            made_of = {row for tensor in tensors for row in _made_of(view.roles(graph), tensor.row, rows)}
            earlier |= {tensor.code for tensor in tensors if tensor.row in made_of}
    return [tensor for tensor in view.of_kind("gradient") if tensor.code not in earlier]


def _made_of(roles: Roles, row: int, rows: set[int]) -> set[int]:
    """Those of some gradients that another one is made of, behind the backward pass."""
    found, seen, waiting = set[int](), {row}, deque([row])
    while waiting and len(seen) < _MOST:
        for source, _, _ in roles.inputs(waiting.popleft()):
            if source in seen:
                continue
            seen.add(source)
            if source in rows:
                found.add(source)
            elif not roles.is_backward(source):
                waiting.append(source)
    return found
