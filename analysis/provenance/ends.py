"""Where non-finite values end: what they reach, and the nodes that mask or heal them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ..ops import ops
from .flow import BadFlow
from .step import Slot

_MASKING = ops(
    "Select SelectV2 Where MulNoNan DivNoNan GatherV2 GatherNd BooleanMask StridedSlice Slice Gather"
)
_MAXIMA = ops(
    "Max Maximum MaxPool MaxPool3D MaxPoolV2 ArgMax TopK TopKV2 SegmentMax UnsortedSegmentMax SegmentMaxV2 "
    "Min Minimum ArgMin SegmentMin UnsortedSegmentMin ClipByValue Relu Relu6"
)
_COMPARING = ops("Less LessEqual Greater GreaterEqual Equal NotEqual IsFinite IsInf IsNan InTopK InTopKV2")
_SOFTMAX = ops("Softmax Exp Expm1 Sigmoid Tanh Softplus")
_MOST = 100_000  # nodes looked at behind one birth


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
    """`loss`, `gradients`, `weights`, `returned`: which of them turned non-finite (tensor names).
    `healers`: in data flow order."""

    loss: str | None
    gradients: list[str]
    weights: list[str]
    returned: list[str]
    healers: list[Healer]

    @property
    def matter(self) -> bool:
        """Whether training, or what the function returns, is affected."""
        return bool(self.loss or self.gradients or self.weights or self.returned)


def find_ends(flow: BadFlow, slots: Iterable[Slot]) -> Ends:
    """What the non-finite tensors `slots` (a birth and its descendants) reach."""
    tensors, roles, graph = flow.tensors, flow.tensors.roles, flow.tensors.graph
    slots = list(slots)
    rows = {slot[0] for slot in slots}
    by_kind = {
        kind: [tensors.name(s) for s in slots if roles.kind.get(s[0]) == kind]
        for kind in ("gradient", "weight")
    }
    return Ends(
        loss=graph.names[roles.loss] + ":0" if roles.loss is not None and roles.loss in rows else None,
        gradients=by_kind["gradient"],
        weights=by_kind["weight"],
        returned=[tensors.name(slot) for slot in slots if _is_returned(flow, slot)],
        healers=_healers(flow, slots),
    )


def _is_returned(flow: BadFlow, slot: Slot) -> bool:
    """Whether a root function returns a tensor, or nothing that is known takes it."""
    graph = flow.tensors.graph
    functions = graph.about.get("functions", {})
    name = flow.tensors.name(slot)
    return any(info["role"] == "root" and name in info["outputs"] for info in functions.values())


def _healers(flow: BadFlow, slots: list[Slot]) -> list[Healer]:
    tensors, roles, graph = flow.tensors, flow.tensors.roles, flow.tensors.graph
    stack = [row for slot in slots for row in roles.consumers(*slot)]
    seen, found = set[int](), dict[int, Healer]()
    while stack and len(seen) < _MOST:
        row = stack.pop()
        if row in seen:
            continue
        seen.add(row)
        captured = tensors.by_row.get(row)
        if not captured:
            stack += roles.consumers(row)
        elif not any(slot in flow.bad for slot in captured):
            op_type = graph.op_type[row]
            found[row] = Healer(tensors.name(captured[0]), graph.names[row], op_type, how(op_type))
    return [found[row] for row in sorted(found, key=lambda row: int(graph.order[row]))]


def how(op_type: str) -> str:
    """In which way an op gets rid of non-finite values."""
    kinds = (("masked", _MASKING), ("extremum", _MAXIMA), ("compared", _COMPARING), ("softmax", _SOFTMAX))
    return next((name for name, ops in kinds if op_type in ops), "healed")
