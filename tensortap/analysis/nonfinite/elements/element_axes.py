"""What the dimensions of a tensor are: image axes, and which sample of the data a batch row is."""

from __future__ import annotations

from ...model_graph.op_sets import ops
from ...model_graph.roles import Roles
from ...run_view.step_tensors import StepTensors
from .index_maps import ELEMENTWISE

_SPATIAL = ops(
    "Conv2D DepthwiseConv2dNative Conv2DBackpropInput MaxPool MaxPoolV2 AvgPool ResizeBilinear "
    "ResizeNearestNeighbor ResizeBicubic DepthToSpace SpaceToDepth CropAndResize"
)
_KEEPS = ELEMENTWISE | ops(
    "BiasAdd FusedBatchNorm FusedBatchNormV2 FusedBatchNormV3 Pad PadV2 _Arg IteratorGetNext"
)
_NEAR = 40  # nodes that are looked at around a tensor
_LAST = ("row", "y", "x", "channel")
_FIRST = ("row", "channel", "y", "x")


def image_axes(roles: Roles, row: int) -> tuple[str, ...]:
    """What the four dimensions of a node's output are, if a convolution, pooling or the like makes or takes
    it, through elementwise ops; empty otherwise (scores of attention have four dimensions, too)."""
    graph = roles.graph
    seen, waiting = {row}, [row]
    for _ in range(_NEAR):
        if not waiting:
            break
        at = waiting.pop(0)
        if graph.op_type[at] in _SPATIAL:
            return _FIRST if roles.attributes(at).get("data_format", "").startswith("NC") else _LAST
        near = {taker for taker in roles.consumers(at) if graph.op_type[taker] in _SPATIAL | _KEEPS}
        if graph.op_type[at] in _KEEPS:
            near |= {source for source, _, _ in roles.inputs(at)}
        waiting += sorted(near - seen)
        seen |= near
    return ()


def sample_of(tensors: StepTensors, row: int | None) -> str | None:
    """The id (or file) of the sample in a row of the batch of a step; None where the run does not say, or the
    worker was fed several batches in that step."""
    batches = tensors.run.events.batches(tensors.step)
    mine = [batch for batch in batches if tensors.worker in ("", batch.worker)]
    if row is None or len(mine) != 1:
        return None
    names = mine[0].ids or mine[0].files or []
    return names[row] if 0 <= row < len(names) else None
