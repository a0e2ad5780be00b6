"""Where non-finite values end: what they reach, and the nodes that mask or heal them."""

from __future__ import annotations

from dataclasses import dataclass

from ..model_graph.op_sets import ops
from .propagation import BadFlow

_MASKING = ops(
    "Select SelectV2 Where MulNoNan DivNoNan GatherV2 GatherNd BooleanMask StridedSlice Slice Gather"
)
_MAXIMA = ops(
    "Max Maximum MaxPool MaxPool3D MaxPoolV2 ArgMax TopK TopKV2 SegmentMax UnsortedSegmentMax SegmentMaxV2 "
    "Min Minimum ArgMin SegmentMin UnsortedSegmentMin ClipByValue Relu Relu6"
)
_COMPARING = ops("Less LessEqual Greater GreaterEqual Equal NotEqual IsFinite IsInf IsNan InTopK InTopKV2")
_SOFTMAX = ops("Softmax Exp Expm1 Sigmoid Tanh Softplus")


@dataclass(frozen=True, slots=True)
class Healer:
    """A captured node that is handed a non-finite value and yields a finite one. `how`: `masked` (it chooses
    other elements), `compared`, `extremum`, `softmax`, or `healed`."""

    tensor: str
    node: str
    op_type: str
    how: str


@dataclass(frozen=True, slots=True)
class Ends:
    """`loss`, `gradients`, `weights`, `returned`: which of them turned non-finite (tensor names); gradients
    also those that the program makes finite again before they are applied. `healers`: in data flow order."""

    loss: str | None
    gradients: list[str]
    weights: list[str]
    returned: list[str]
    healers: list[Healer]

    @property
    def matter(self) -> bool:
        """Whether training, or what the function returns, is affected."""
        return bool(self.loss or self.gradients or self.weights or self.returned)


def returned_names(flow: BadFlow) -> set[str]:
    """The tensors that root functions return."""
    functions = flow.tensors.graph.about.get("functions", {})
    return {name for info in functions.values() if info["role"] == "root" for name in info["outputs"]}


def how(op_type: str) -> str:
    """In which way an op gets rid of non-finite values."""
    kinds = (("masked", _MASKING), ("extremum", _MAXIMA), ("compared", _COMPARING), ("softmax", _SOFTMAX))
    return next((name for name, ops in kinds if op_type in ops), "healed")
