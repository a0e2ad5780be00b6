"""Rules about axes: a softmax over a single element or over the batch, a loss that broadcasts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from ...model_graph.op_types import CONVOLUTIONS, MATRIX_PRODUCTS, ops
from ...model_graph.roles import Roles, Slot
from ...run_view.run_view import RunView
from ..finding import Evidence, Hit
from ..forward_sources import (
    Shape,
    captured_tensor,
    forward_rows,
    shape_of,
    source_of,
    sources_of,
    trained_graphs,
)
from ..rule import Limits, rule

_SOFTMAXES = ops("Softmax LogSoftmax")
_ADDITIONS = ops("Add AddV2 BiasAdd")
_SCALINGS = ops("Mul RealDiv")
_PRODUCTS = MATRIX_PRODUCTS | CONVOLUTIONS


@rule(
    "SoftmaxAxis",
    "a softmax over a single element, or over the batch",
    title="Softmax over the wrong axis",
    severity="high",
    source="tensortap: the shapes of the softmax and of its input",
    help="For two classes, use one unit with a sigmoid or two with a softmax; otherwise axis=-1.",
    next_look="Check the shape of the softmax: its values must sum to 1 over the classes.",
)
def softmax_axis(view: RunView, limits: Limits) -> Iterable[Hit]:
    del limits
    for roles in trained_graphs(view):
        for row in forward_rows(roles, _SOFTMAXES.__contains__):
            shape, name = shape_of(roles, (row, 0)), roles.graph.names[row]
            value = 1 if roles.graph.op_type[row] == "Softmax" else "log(1) = 0"
            if shape and shape[-1] == 1 and _is_layer_output(roles, row):
                text = f"{name} ({_text(shape)}) is a softmax over one element, which is always {value}."
                yield from _at(view, roles, row, text, Evidence(0, "elements of the softmax", 1.0, 2.0))
            elif taken := _transposed_batch(roles, row):
                text = (
                    f"{name} is a softmax over the batch: its input was {_text(taken)} and is "
                    f"transposed to {_text(shape or ())}. The result of a sample depends on the "
                    "other samples in its batch."
                )
                evidence = Evidence(0, "axis of the softmax", 0.0, len(taken) - 1)
                yield from _at(view, roles, row, text, evidence)


def _is_layer_output(roles: Roles, row: int) -> bool:
    """Whether a node uses the output of a layer with weights rather than the scores of attention, which may
    have length 1."""
    found = [source for source, _ in sources_of(roles, row)[:1]]
    if found and roles.graph.op_type[found[0]] in _ADDITIONS:
        found = [source for source, _ in sources_of(roles, found[0])]
    return any(
        roles.graph.op_type[each] in _PRODUCTS
        and any(roles.kind.get(source) == "weight" for source, _ in sources_of(roles, each))
        for each in found
    )


def _transposed_batch(roles: Roles, row: int) -> Shape | None:
    """The shape of a softmax's input before it was transposed to put its first axis last.

    None for one score a sample, which pools the batch (multiple instance learning), and for the similarities
    of two batches (contrastive losses).
    """
    for source, _, position in roles.inputs(row):
        if position != 0 or roles.graph.op_type[source] != "Transpose":
            continue
        before = next((place[:2] for place in roles.inputs(source) if place[2] == 0), (source, 0))
        old, new = shape_of(roles, before), shape_of(roles, (source, 0))
        is_moved = old and new and old[0] == new[-1] and old[-1] != new[-1] and old.count(old[0]) == 1
        is_meant = (old or (1,))[-1] == 1 or _is_similarity(roles, before)
        return old if is_moved and not is_meant and _is_batch(roles, old[0] if old else None) else None
    return None


def _is_similarity(roles: Roles, place: Slot) -> bool:
    """Whether a tensor is a product of two others than weights, or a multiple of one."""
    row = source_of(roles, place)[0]
    while roles.graph.op_type[row] in _SCALINGS:
        scaled = [source for source, _ in sources_of(roles, row) if roles.reached[source]]
        if len(scaled) != 1:
            break
        row = scaled[0]
    weighs = any(roles.kind.get(source) == "weight" for source, _ in sources_of(roles, row))
    return roles.graph.op_type[row] in MATRIX_PRODUCTS and not weighs


def _is_batch(roles: Roles, extent: int | None) -> bool:
    """Whether the inputs of the step have this first dimension."""
    inputs = [shape_of(roles, (row, 0)) for row in roles.of_kind("input")]
    return extent is None or any(shape and shape[0] == extent for shape in inputs)


@rule(
    "BroadcastLoss",
    "targets and outputs of different shapes, so that their difference broadcasts",
    title="Broadcast in the loss",
    severity="high",
    source="tensortap: the shapes of the targets, of the output and of their difference",
    help="Give both the same shape, e.g. with tf.squeeze(outputs, -1) or targets[:, None].",
    next_look="Check the shapes of the two inputs of this difference.",
)
def broadcast_loss(view: RunView, limits: Limits) -> Iterable[Hit]:
    del limits
    for roles in trained_graphs(view):
        for row in forward_rows(roles, ("Sub", "SquaredDifference").__contains__):
            places = [(source, slot) for source, slot, position in roles.inputs(row) if position >= 0]
            shapes = [shape_of(roles, place) for place in places]
            if len(places) != 2 or not _is_outer(*shapes):
                continue
            for output, target in (places, places[::-1]):
                is_target = roles.kind.get(source_of(roles, target)[0]) == "input"
                if is_target and roles.reached[output[0]]:
                    of = dict(zip(places, map(_text, shapes), strict=True))
                    names = roles.graph.names
                    text = (
                        f"{names[row]} compares targets of shape {of[target]} with outputs of shape "
                        f"{of[output]}: the difference has shape {_text(shape_of(roles, (row, 0)))}, every "
                        "output minus every target."
                    )
                    yield from _at(view, roles, row, text, Evidence(0, "rank of the difference", 2.0, 1.0))
                    break


def _is_outer(one: Shape | None, other: Shape | None) -> bool:
    """Whether two operands are a vector [n] and a column [n, 1]: then each meets each."""
    if one is None or other is None:
        return False
    vector, column = sorted((one, other), key=len)
    return len(vector) == 1 and len(column) == 2 and column == (vector[0], 1) and vector[0] != 1


def _at(view: RunView, roles: Roles, row: int, text: str, evidence: Evidence) -> Iterator[Hit]:
    tensor = captured_tensor(view, roles, (row, 0))
    steps = view.rows([tensor] if tensor else []).steps
    if tensor is not None and len(steps):
        evidence = replace(evidence, step=int(steps[0]))
        yield replace(Hit.at(steps, len(steps), tensor, text, evidence), source_node=roles.graph.names[row])


def _text(shape: Shape | None) -> str:
    extents = ["batch" if extent is None else f"{extent:,}" for extent in shape or ()]
    return "×".join(extents)
