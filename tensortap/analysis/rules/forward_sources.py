"""The forward pass as rules see it: its ops, the sources of their inputs, and captured values."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

from ..model_graph.op_types import ops
from ..model_graph.roles import Roles, Slot, TensorRole
from ..run_view.run_view import RunView

Shape = tuple[int | None, ...]

CROSS_ENTROPIES = ops("SoftmaxCrossEntropyWithLogits SparseSoftmaxCrossEntropyWithLogits")
SIGMOID_LOSS = "logistic_loss"  # the scope of tf.nn.sigmoid_cross_entropy_with_logits
_FORWARDING = ops("_Arg Identity Cast Reshape ExpandDims Squeeze EnsureShape StopGradient PreventGradient")
_DEEP = 2000  # nodes that are followed from one input


def trained_graphs(view: RunView) -> Iterator[Roles]:
    """The roles of each graph that has a loss and computes gradients."""
    for graph in sorted({tensor.graph for tensor in view.tensors}):
        roles = view.roles(graph)
        if roles.loss is not None and roles.of_kind("gradient"):
            yield roles


def forward_rows(roles: Roles, fits: Callable[[str], bool]) -> Iterator[int]:
    """Rows of the forward pass with a fitting op type."""
    for row in range(len(roles.graph)):
        if fits(roles.graph.op_type[row]) and not roles.is_backward(row):
            yield row


def sources_of(roles: Roles, row: int) -> list[Slot]:
    """Inputs of a node by position: where each was computed, past calls and ops that only forward."""
    return [source_of(roles, (source, slot)) for source, slot, position in roles.inputs(row) if position >= 0]


def source_of(roles: Roles, place: Slot) -> Slot:
    """Where a tensor was computed, past ops that only forward."""
    for _ in range(_DEEP):
        taken = [(source, slot) for source, slot, position in roles.inputs(place[0]) if position <= 0]
        if roles.graph.op_type[place[0]] not in _FORWARDING or len(taken) != 1:
            break
        place = taken[0]
    return place


def captured_tensor(view: RunView, roles: Roles, place: Slot, *, exactly: bool = False) -> TensorRole | None:
    """The captured tensor of a place; else the loss, or any other of its graph that shows the steps."""
    graph = roles.graph.id
    found = view.tensor_at(graph, place)
    if found is not None or exactly:
        return found
    loss = None if roles.loss is None else view.tensor_at(graph, (roles.loss, 0))
    return loss or next((tensor for tensor in view.tensors if tensor.graph == graph), None)


def shape_of(roles: Roles, place: Slot) -> Shape | None:
    """The recorded shape of an output slot; None if unknown."""
    row, slot = place
    texts = roles.graph.slot_texts(row)
    try:
        found = json.loads(texts[slot][1]) if slot < len(texts) and texts[slot][1] else None
    except (ValueError, RecursionError):
        found = None
    return tuple(found) if isinstance(found, list) else None
