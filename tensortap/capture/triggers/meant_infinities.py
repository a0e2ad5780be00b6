"""Infinities that the program itself writes, as masks do: `tf.where(mask, scores, -np.inf)`."""

from __future__ import annotations

from collections.abc import Sequence

from tensortap.core.model import Node
from tensortap.core.names import parse_tensor_name

from .step_summaries import Examined, GraphLookup, StepSummaries

# The elements of their results are elements of their inputs.
_MOVING = (
    "BroadcastTo ConcatV2 ExpandDims Fill GatherV2 Identity Pack PadV2 Reshape Select SelectV2 Slice Squeeze"
    " StridedSlice Tile Transpose"
)
# What they make of finite numbers is finite, as long as nobody adds 1e38s.
_CARRYING = "Add AddV2 BiasAdd Max Maximum Min Minimum Mul Neg Sub"
_WHOLE_NUMBERS = "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64"

_MOVE, _CARRY, _WHOLE = (frozenset(names.split()) for names in (_MOVING, _CARRYING, _WHOLE_NUMBERS))


def without_meant(bad: Sequence[Examined], step: StepSummaries, graphs: GraphLookup) -> list[Examined]:
    """Those of a step's non-finite tensors that are more than infinite constants, moved or added.

    A tensor with a NaN is always more, and so is one that may have its infinity from what was not captured.
    """
    possible = {tensor.name: tensor for tensor in bad}
    for tensor in bad:
        if tensor.nonfinite[0] or tensor.candidate.op_type not in _MOVE | _CARRY:
            possible.pop(tensor.name, None)
    names = {tensor.name for tensor in bad}
    meant: set[str] = set()

    def is_meant(tensor: Examined) -> bool:
        node = graphs.node(tensor.graph, tensor.candidate.node)
        sources = [] if node is None else graphs.sources(tensor.graph, node)
        seen = {name: source for name in sources if (source := step.tensor(name)) is not None}
        infinite = {name for name, source in seen.items() if name in names or any(source.nonfinite)}
        if infinite:
            return infinite <= meant
        unseen = [name for name in sources if name not in seen and _is_float(tensor, name, graphs)]
        constant = [name for name in unseen if _source(tensor, name, graphs).op_type == "Const"]
        return tensor.candidate.op_type in _MOVE and bool(unseen) and constant == unseen

    while found := [name for name, tensor in possible.items() if is_meant(tensor)]:
        meant.update(found)
        for name in found:
            del possible[name]
    return [tensor for tensor in bad if tensor.name not in meant]


def _source(tensor: Examined, name: str, graphs: GraphLookup) -> Node:
    return graphs.node(tensor.graph, parse_tensor_name(name)[0]) or Node(name, "")


def _is_float(tensor: Examined, name: str, graphs: GraphLookup) -> bool:
    """Whether a tensor that a node reads may hold infinities; one that is not known may."""
    dtypes, slot = _source(tensor, name, graphs).output_dtypes, parse_tensor_name(name)[1]
    return slot >= len(dtypes) or dtypes[slot] not in _WHOLE
