"""Non-finite values that a step may have: scaled gradients that overflow, and infinities of masks.

Dynamic loss scaling skips a step whose scaled gradients are not finite (`without_overflow`); masks write
infinities on purpose, as in `tf.where(mask, scores, -np.inf)` (`without_constant_infinities`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from tensortap.core.names import LOSS_SCALES, parse_tensor_name
from tensortap.core.records import Graph, Node

from .step_summaries import Examined, GraphLookup, StepSummaries

_BACKWARD = re.compile(r"(?:.*/)?gradient(?:s|_tape)(?:_\d+)?/", re.DOTALL)
_VARIABLE = "tensortap.variable"

# The elements of their results are elements of their inputs.
_MOVING = (
    "BroadcastTo ConcatV2 ExpandDims Fill GatherV2 Identity Pack PadV2 Reshape Select SelectV2 Slice Squeeze"
    " StridedSlice Tile Transpose"
)
# Their results for finite numbers are finite, except near the limit of the dtype.
_CARRYING = "Add AddV2 BiasAdd Max Maximum Min Minimum Mul Neg Sub"
_WHOLE_NUMBERS = "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64"

_MOVE, _CARRY, _WHOLE = (frozenset(names.split()) for names in (_MOVING, _CARRYING, _WHOLE_NUMBERS))


def without_overflow(bad: list[Examined], graphs: GraphLookup) -> list[Examined]:
    """Drop non-finite tensors that are only scaled gradients; the others stay in the order of the graph.

    Skipped are, in a graph that scales its loss dynamically, the scaled loss, the backward pass, gradients,
    and what has it from nothing but these. The loss itself, the forward pass and the weights stay.
    """
    scaled = {id(tensor.graph) for tensor in bad if tensor.graph is not None and _scales(tensor.graph)}
    names, overflown = {tensor.name for tensor in bad}, set[str]()
    for tensor in bad:
        node = graphs.node(tensor.graph, tensor.candidate.node)
        if node is None or id(tensor.graph) not in scaled or tensor.candidate.kind == "weight":
            continue
        nonfinite_inputs = names.intersection(node.inputs)
        if nonfinite_inputs:
            skipped = nonfinite_inputs <= overflown
        else:
            skipped = tensor.candidate.kind == "gradient" or _is_scaled(tensor.graph, node, graphs)
        if skipped:
            overflown.add(tensor.name)
    return [tensor for tensor in bad if tensor.name not in overflown]


def _scales(graph: Graph) -> bool:
    return any(node.attributes.get(_VARIABLE, "").endswith(LOSS_SCALES) for node in graph.nodes)


def _is_scaled(graph: Graph | None, node: Node, graphs: GraphLookup) -> bool:
    """Whether a node is of the backward pass, or multiplies by the scale."""
    return _BACKWARD.match(node.name) is not None or any(
        source.attributes.get(_VARIABLE, "").endswith(LOSS_SCALES)
        for source in _read_nodes(graph, node, graphs)
    )


def _read_nodes(graph: Graph | None, node: Node, graphs: GraphLookup) -> Iterable[Node]:
    """The nodes that it reads, directly or through a cast."""
    for name in node.inputs:
        source = None if name.startswith("^") else graphs.node(graph, parse_tensor_name(name)[0])
        if source is not None:
            yield source
            if source.op_type == "Cast":
                yield from _read_nodes(graph, source, graphs)


def without_constant_infinities(
    bad: Sequence[Examined], step: StepSummaries, graphs: GraphLookup
) -> list[Examined]:
    """Drop non-finite tensors that are only infinite constants, moved or added.

    A tensor with a NaN always counts, and so does one whose infinity may come from an uncaptured tensor.
    """
    possible = {tensor.name: tensor for tensor in bad}
    for tensor in bad:
        if tensor.nonfinite[0] or tensor.candidate.op_type not in _MOVE | _CARRY:
            possible.pop(tensor.name, None)
    names = {tensor.name for tensor in bad}
    expected: set[str] = set()

    def is_expected(tensor: Examined) -> bool:
        node = graphs.node(tensor.graph, tensor.candidate.node)
        sources = [] if node is None else graphs.sources(tensor.graph, node)
        seen = {name: source for name in sources if (source := step.tensor(name)) is not None}
        infinite = {name for name, source in seen.items() if name in names or any(source.nonfinite)}
        if infinite:
            return infinite <= expected
        unseen = [name for name in sources if name not in seen and _is_float(tensor, name, graphs)]
        constant = [name for name in unseen if _source(tensor, name, graphs).op_type == "Const"]
        return tensor.candidate.op_type in _MOVE and bool(unseen) and constant == unseen

    while found := [name for name, tensor in possible.items() if is_expected(tensor)]:
        expected.update(found)
        for name in found:
            del possible[name]
    return [tensor for tensor in bad if tensor.name not in expected]


def _source(tensor: Examined, name: str, graphs: GraphLookup) -> Node:
    return graphs.node(tensor.graph, parse_tensor_name(name)[0]) or Node(name, "")


def _is_float(tensor: Examined, name: str, graphs: GraphLookup) -> bool:
    """Whether a tensor that a node reads may have infinities; true for an unknown one."""
    dtypes, slot = _source(tensor, name, graphs).output_dtypes, parse_tensor_name(name)[1]
    return slot >= len(dtypes) or dtypes[slot] not in _WHOLE
