"""Variables that were left out of what a run trains, though they could be: forgotten, perhaps."""

from __future__ import annotations

from ..run_view.run_view import RunView
from .gradient_cuts import cut_of, is_unused
from .tensor_role import TensorRole

WHY_LEFT_OUT = "no step asks for its gradient, although it is trainable and the loss depends on it"


def is_left_out(view: RunView, weight: TensorRole) -> bool:
    """Whether a tape records what is computed of a trainable variable, the loss depends on it through ops
    that have gradients, and no graph of the run asks for its gradient. Not so of frozen layers, and of a
    teacher or target network that is computed outside of the tape or behind `stop_gradient`."""
    roles, variable = view.roles(weight.graph), weight.variable
    if variable not in roles.left_out or variable in _asked(view):
        return False
    return cut_of(view.run, roles, variable) is None and not is_unused(roles, variable)


def is_trained_elsewhere(view: RunView, weight: TensorRole) -> bool:
    """Whether another graph of the run computes a gradient of a variable, and this one does not."""
    graphs = view.once("graphs that train", lambda: _graphs_that_train(view)).get(weight.variable, set())
    return bool(graphs) and weight.graph not in graphs


def _asked(view: RunView) -> set[str]:
    """Paths of the variables whose gradients any graph asks for."""

    def find() -> set[str]:
        told = (view.roles(graph).trainable for graph in {tensor.graph for tensor in view.tensors})
        return {path for trainable in told for path, asked in trainable.items() if asked}

    return view.once("variables that are asked for", find)


def _graphs_that_train(view: RunView) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for tensor in view.of_kind("gradient"):
        found.setdefault(tensor.variable, set()).add(tensor.graph)
    return found
