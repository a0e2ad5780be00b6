"""Tensors that each origin reaches, in one pass along the data flow, and where its NaN and Inf end."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from tensortap.core.dtypes import Array

from ..model_graph.op_types import CALLS, SHAPES, ops
from ..model_graph.roles import Slot
from .nonfinite_flow import FlowTensor, NonfiniteFlow

_OF_SHAPES = SHAPES | ops("VariableShape BroadcastGradientArgs")
_MAX_NODES = 100_000  # uncaptured nodes to check downstream of origins
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
class Reached:
    """Tensors that one origin reaches.

    Attributes:
        slots: the origin and all non-finite tensors that it propagated to, in data flow order.
        ends: where those end.
        open: whether uncaptured nodes connect one of them to the loss, a gradient, a weight or an output of
            the function, so that the effect is unknown.
        total: tensors of all calls, where it propagated to others; else 0.
    """

    slots: list[Slot]
    ends: Impact
    open: bool
    total: int = 0

    @property
    def count(self) -> int:
        """How many non-finite tensors, the origin included, in all calls of the step."""
        return self.total or len(self.slots)


class Reachability:
    """Finds what each origin reaches.

    Each tensor is marked with the origins that reach it, a bit each, so that many origins of a large step
    (all weights of a network held NaN) cost as much as one.
    """

    def __init__(self, flow: NonfiniteFlow, origins: Sequence[FlowTensor]) -> None:
        self._flow = flow
        self._slots = list(flow.bad)
        marks = _marks_of_slots(flow, origins)
        self._marks = _as_columns([marks.get(slot, 0) for slot in self._slots], len(origins))
        self._recoveries: list[tuple[int, RecoveryOp]] = []
        self._open = 0
        returned = returned_names(flow)
        self._follow_uncaptured(marks, returned)
        roles = flow.tensors.roles
        kinds = [roles.kind.get(row, "") for row, _ in self._slots]
        gradients = [
            kind == "gradient" or slot in flow.replaced for slot, kind in zip(self._slots, kinds, strict=True)
        ]
        self._gradient = np.array(gradients, np.bool_)
        self._weight = np.array([kind == "weight" for kind in kinds], np.bool_)
        self._loss = np.array([row == roles.loss for row, _ in self._slots], np.bool_)
        self._returned = np.array([flow.tensors.name(slot) in returned for slot in self._slots], np.bool_)

    def of(self, origin: int) -> Reached:
        """The reach of an origin, by its index in the given list."""
        here = (self._marks[:, origin >> 3] >> (origin & 7) & 1).astype(np.bool_)
        tensors, loss = self._flow.tensors, self._flow.tensors.roles.loss
        has_loss = loss is not None and bool((here & self._loss).any())
        ends = Impact(
            loss=f"{tensors.graph.names[loss]}:0" if loss is not None and has_loss else None,
            gradients=self._names(here & self._gradient),
            weights=self._names(here & self._weight),
            returned=self._names(here & self._returned),
            healers=[recovery for marks, recovery in self._recoveries if marks >> origin & 1],
        )
        slots = [self._slots[at] for at in np.flatnonzero(here).tolist()]
        return Reached(slots, ends, bool(self._open >> origin & 1))

    def _names(self, here: Array) -> list[str]:
        return [self._flow.tensors.name(self._slots[at]) for at in np.flatnonzero(here).tolist()]

    def _follow_uncaptured(self, marks: dict[Slot, int], returned: set[str]) -> None:
        """Through nodes that were not captured, to captured ones that are finite, or to an end."""
        tensors = self._flow.tensors
        for row, reached in _uncaptured_paths(self._flow, marks):
            captured = tensors.by_row.get(row)
            if not captured:
                self._open |= reached if _is_end(self._flow, row, returned) else 0
            elif not any(slot in self._flow.bad for slot in captured) and not _never_saw_values(
                self._flow, row
            ):
                op_type = tensors.graph.op_type[row]
                name = tensors.graph.names[row]
                recovery = RecoveryOp(tensors.name(captured[0]), name, op_type, recovery_kind(op_type))
                self._recoveries.append((reached, recovery))


def _marks_of_slots(flow: NonfiniteFlow, origins: Sequence[FlowTensor]) -> dict[Slot, int]:
    """Slot of each tensor that origins reach -> these origins, as bits. Results of loops take another
    pass."""
    marks = {origin.slot: 1 << number for number, origin in enumerate(origins)}
    place = {slot: at for at, slot in enumerate(flow.bad)}
    again = True
    while again:
        again = False
        for slot, at in place.items():
            mine = marks.get(slot, 0)
            for child in _propagated_to(flow, slot) if mine else ():
                known = marks.get(child, 0)
                marks[child] = known | mine
                again = again or (place[child] <= at and marks[child] != known)
    return marks


def _propagated_to(flow: NonfiniteFlow, slot: Slot) -> Iterator[Slot]:
    """The non-finite tensors that a tensor propagated to, including those of its function that were
    non-finite at an earlier visit, because origins are reported for the first visit only."""
    yield from flow.children.get(slot, ())
    tensors, visit = flow.tensors, flow.bad[slot].visit
    function = tensors.graph.function.codes
    for row in tensors.roles.consumers(*slot) if visit else ():
        if function[row] == function[slot[0]]:
            for child in tensors.by_row.get(row, ()):
                if child in flow.bad and flow.bad[child].visit < visit:
                    yield child


def _uncaptured_paths(flow: NonfiniteFlow, marks: dict[Slot, int]) -> Iterator[tuple[int, int]]:
    """(row, the origins that lead there) of the nodes downstream of non-finite tensors, as far as the first
    captured one on each path, in data flow order."""
    tensors, order = flow.tensors, flow.tensors.graph.order
    found: dict[int, int] = {}
    waiting: list[tuple[int, int]] = []

    def propagate(row: int, bits: int) -> None:
        known = found.get(row, 0)
        if known | bits != known and (row in found or len(found) < _MAX_NODES):
            found[row] = known | bits
            heapq.heappush(waiting, (int(order[row]), row))

    for slot, bits in marks.items():
        for consumer in tensors.roles.consumers(*slot):
            propagate(consumer, bits)
    passed: dict[int, int] = {}
    while waiting:
        _, row = heapq.heappop(waiting)
        if passed.get(row) == found[row]:
            continue
        passed[row] = found[row]
        if row not in tensors.by_row:
            for consumer in tensors.roles.consumers(row):
                propagate(consumer, found[row])
    for row in sorted(found, key=lambda row: int(order[row])):
        yield row, found[row]


def _never_saw_values(flow: NonfiniteFlow, row: int) -> bool:
    """Whether a finite node never used the values: it reads shapes, or calls captured functions."""
    graph = flow.tensors.graph
    if graph.op_type[row] not in CALLS:
        return graph.op_type[row] in _OF_SHAPES
    called = {name for name, info in graph.functions.items() if info.caller == graph.names[row]}
    return bool(called) and any(graph.function[inside] in called for inside in flow.tensors.by_row)


def _is_end(flow: NonfiniteFlow, row: int, returned: set[str]) -> bool:
    """Whether a node matters by itself and may have non-finite elements."""
    roles = flow.tensors.roles
    matters = row == roles.loss or roles.kind.get(row) in ("gradient", "weight")
    return (matters or flow.tensors.name((row, 0)) in returned) and flow.upstream.may_be_bad(row, 0)


def _as_columns(marks: list[int], origins: int) -> Array:
    """Bits as bytes [tensors, bytes], the lowest first."""
    width = origins // 8 + 1
    data = b"".join(mark.to_bytes(width, "little") for mark in marks)
    return np.frombuffer(data, np.uint8).reshape(len(marks), width)


@dataclass(frozen=True, slots=True)
class RecoveryOp:
    """A captured node that takes a non-finite value and yields a finite one. `how`: `masked` (it chooses
    other elements), `compared`, `extremum`, `softmax`, or `recovered`."""

    tensor: str
    node: str
    op_type: str
    how: str


@dataclass(frozen=True, slots=True)
class Impact:
    """`loss`, `gradients`, `weights`, `returned`: which of them turned non-finite (tensor names); gradients
    also those that the program makes finite again before they are applied. `healers`: in data flow order."""

    loss: str | None
    gradients: list[str]
    weights: list[str]
    returned: list[str]
    healers: list[RecoveryOp]

    @property
    def affects_training(self) -> bool:
        """Whether training, or a result of the function, is affected."""
        return bool(self.loss or self.gradients or self.weights or self.returned)


def returned_names(flow: NonfiniteFlow) -> set[str]:
    """The tensors that root functions return to the program."""
    functions = flow.tensors.graph.about.get("functions", {})
    found = {name for info in functions.values() if info["role"] == "root" for name in info["outputs"]}
    return found - {flow.tensors.name(slot) for slot in flow.internal_outputs}


def recovery_kind(op_type: str) -> str:
    """How an op returns finite values for non-finite ones."""
    kinds = (("masked", _MASKING), ("extremum", _MAXIMA), ("compared", _COMPARING), ("softmax", _SOFTMAX))
    return next((name for name, ops in kinds if op_type in ops), "recovered")
