"""What a model's first weights take of an input: the input itself, or what was computed of it before."""

from __future__ import annotations

from dataclasses import dataclass

from ...model_graph.op_sets import ops
from ...model_graph.tensor_role import TensorRole
from ...series.run_view import RunView

_FOLLOWED = 2000  # nodes
_HANDING_ON = ("_Arg", "Identity", "Cast", "Reshape", "ExpandDims", "OptionalGetValue")
_NORMALISING = ops("FusedBatchNorm FusedBatchNormV2 FusedBatchNormV3 Cos Sin Tanh Sigmoid Softmax")
# Products with weights, and what may hold them.
_WEIGHING = ops(
    "MatMul BatchMatMul BatchMatMulV2 BatchMatMulV3 Einsum Conv2D Conv3D DepthwiseConv2dNative "
    "PartitionedCall StatefulPartitionedCall While StatelessWhile If StatelessIf Case StatelessCase"
)
# They compute no other numbers.
_SELECTING = ops(
    "Transpose Pad PadV2 MirrorPad Slice StridedSlice Split SplitV Unpack Pack ConcatV2 GatherV2 Squeeze "
    "ReverseV2 Roll ResizeBilinear ResizeNearestNeighbor TensorListFromTensor SpaceToBatchND EnsureShape "
    "StopGradient Snapshot"
)


@dataclass(frozen=True, slots=True)
class Taken:
    """`tensors`: (row, slot) of what the first products with weights take; what an op has bounded is left
    out. `as_it_is`: some of them hold the numbers of the input itself."""

    tensors: list[tuple[int, int]]
    as_it_is: bool


def taken_by_weights(view: RunView, tensor: TensorRole) -> Taken:
    """Follows an input forward. Nothing is taken of targets, which meet no weight."""
    roles = view.roles(tensor.graph)
    found, as_it_is = list[tuple[int, int]](), False
    waiting, seen = [(tensor.row, tensor.slot, True)], set[tuple[int, int]]()
    while waiting and len(seen) < _FOLLOWED:
        row, slot, same = waiting.pop(0)
        if (row, slot) in seen:
            continue
        seen.add((row, slot))
        for user in roles.consumers(row, slot):
            op_type = roles.graph.op_type[user]
            if roles.is_backward(user) or op_type in _NORMALISING:
                continue
            if op_type in _WEIGHING:
                found.append((row, slot))
                as_it_is = as_it_is or same
                continue
            kept = same and (op_type in _HANDING_ON or op_type in _SELECTING)
            waiting += [(user, each, kept) for each in range(max(int(roles.graph.slots[user]), 1))]
    return Taken(list(dict.fromkeys(found)), as_it_is)
