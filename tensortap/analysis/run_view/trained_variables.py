"""Finds the variables that a run trains: the effective gradient of each, and trainable variables without
one."""

from __future__ import annotations

from collections import deque

import numpy as np

from ..model_graph.gradient_cuts import find_gradient_cut, is_unused
from ..model_graph.roles import Roles, TensorRole, is_ambiguous_read
from .run_view import RunView

_MAX_NODES = 200  # nodes between a gradient and the gradient that it is computed from
WHY_OMITTED = "no step requests its gradient, although it is trainable and the loss depends on it"


def trained_gradients(view: RunView) -> list[TensorRole]:
    """The captured gradients. If one is computed from another one of the same variable (unscaled, clipped),
    the last one counts: it changes the weights, so its size is comparable."""
    return view.cached("trained gradients", lambda: _last_gradients(view))


def _last_gradients(view: RunView) -> list[TensorRole]:
    by_variable: dict[tuple[str, str], list[TensorRole]] = {}
    for tensor in view.of_kind("gradient"):
        by_variable.setdefault((tensor.graph, tensor.variable), []).append(tensor)
    earlier = set[int]()
    for (graph, variable), tensors in by_variable.items():
        if variable and len(tensors) > 1:
            rows = {tensor.row for tensor in tensors}
            made_of = {
                row for tensor in tensors for row in _gradients_before(view.roles(graph), tensor.row, rows)
            }
            earlier |= {tensor.code for tensor in tensors if tensor.row in made_of}
    return [tensor for tensor in view.of_kind("gradient") if tensor.code not in earlier]


def _gradients_before(roles: Roles, row: int, rows: set[int]) -> set[int]:
    """Gradients from which another one is computed, after the backward pass."""
    found, seen, waiting = set[int](), {row}, deque([row])
    while waiting and len(seen) < _MAX_NODES:
        for source, _, _ in roles.inputs(waiting.popleft()):
            if source in seen:
                continue
            seen.add(source)
            if source in rows:
                found.add(source)
            elif not roles.is_backward(source):
                waiting.append(source)
    return found


def steps_of_nonfinite_gradients(view: RunView, graph: str) -> set[int]:
    """Steps with NaN or infinities in a gradient of a graph: loss scaling then neither updates variables, nor
    computes the unscaled gradients."""

    def find() -> set[int]:
        rows = view.rows([tensor for tensor in view.of_kind("gradient") if tensor.graph == graph])
        return set(rows.step[rows.finite < rows["size"]].tolist())

    return view.cached(f"steps with non-finite gradients of {graph}", find)


def is_omitted_from_gradients(view: RunView, weight: TensorRole) -> bool:
    """Whether a tape records ops on a trainable variable and the loss depends on it through differentiable
    ops, but no graph of the run requests its gradient. False for frozen layers, and for a teacher or target
    network outside the tape or behind `stop_gradient`."""
    roles, variable = view.roles(weight.graph), weight.variable
    if variable not in roles.omitted or variable in _asked(view):
        return False
    return find_gradient_cut(view.run, roles, variable) is None and not is_unused(roles, variable)


def changes(view: RunView, weight: TensorRole) -> bool:
    """Whether a weight changes over the captured steps."""
    rows = view.rows([weight])
    return any(len(np.unique(rows[name], equal_nan=True)) > 1 for name in ("mean", "l2", "abs_max"))


def is_ambiguous(view: RunView, weight: TensorRole) -> bool:
    """Whether another variable has the same path, so that the gradient may belong to it."""
    return is_ambiguous_read(view.roles(weight.graph), weight.row)


def is_trained_by_another_graph(view: RunView, weight: TensorRole) -> bool:
    """Whether another graph of the run computes a gradient of a variable, and this one does not."""
    graphs = view.cached("graphs that train", lambda: _graphs_that_train(view)).get(weight.variable, set())
    return bool(graphs) and weight.graph not in graphs


def _asked(view: RunView) -> set[str]:
    """Paths of the variables whose gradients a graph requests."""

    def find() -> set[str]:
        trainables = (view.roles(graph).trainable for graph in {tensor.graph for tensor in view.tensors})
        return {path for trainable in trainables for path, asked in trainable.items() if asked}

    return view.cached("requested gradients", find)


def _graphs_that_train(view: RunView) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for tensor in view.of_kind("gradient"):
        found.setdefault(tensor.variable, set()).add(tensor.graph)
    return found
