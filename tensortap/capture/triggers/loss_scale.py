"""What dynamic loss scaling lets overflow: a step whose scaled gradients are not finite is skipped."""

from __future__ import annotations

import re
from collections.abc import Iterable

from tensortap.core.model import Graph, Node
from tensortap.core.names import parse_tensor_name

from .step_summaries import Examined, GraphLookup

_SCALES = ("dynamic_scale", "loss_scale", "current_loss_scale")  # Keras 3, Keras 2, TensorFlow 1
_BACKWARD = re.compile(r"(?:.*/)?gradient(?:s|_tape)(?:_\d+)?/", re.DOTALL)
_VARIABLE = "tensortap.variable"


def without_overflow(bad: list[Examined], graphs: GraphLookup) -> list[Examined]:
    """Those of a step's non-finite tensors, in the order of the graph, that are more than scaled gradients.

    Left out are, in a graph that scales its loss dynamically, the scaled loss, the backward pass, gradients,
    and what has it from nothing but these. The loss itself, the forward pass and the weights stay.
    """
    scaled = {id(tensor.graph) for tensor in bad if tensor.graph is not None and _scales(tensor.graph)}
    names, overflown = {tensor.name for tensor in bad}, set[str]()
    for tensor in bad:
        node = graphs.node(tensor.graph, tensor.candidate.node)
        if node is None or id(tensor.graph) not in scaled or tensor.candidate.kind == "weight":
            continue
        handed = names.intersection(node.inputs)
        if handed:
            skipped = handed <= overflown
        else:
            skipped = tensor.candidate.kind == "gradient" or _is_scaled(tensor.graph, node, graphs)
        if skipped:
            overflown.add(tensor.name)
    return [tensor for tensor in bad if tensor.name not in overflown]


def _scales(graph: Graph) -> bool:
    return any(node.attributes.get(_VARIABLE, "").endswith(_SCALES) for node in graph.nodes)


def _is_scaled(graph: Graph | None, node: Node, graphs: GraphLookup) -> bool:
    """Whether a node is of the backward pass, or multiplies by the scale."""
    return _BACKWARD.match(node.name) is not None or any(
        source.attributes.get(_VARIABLE, "").endswith(_SCALES) for source in _sources(graph, node, graphs)
    )


def _sources(graph: Graph | None, node: Node, graphs: GraphLookup) -> Iterable[Node]:
    """The nodes that it reads, and those behind a cast."""
    for name in node.inputs:
        source = None if name.startswith("^") else graphs.node(graph, parse_tensor_name(name)[0])
        if source is not None:
            yield source
            if source.op_type == "Cast":
                yield from _sources(graph, source, graphs)
