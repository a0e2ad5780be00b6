"""Backtrace of single elements: from a non-finite one upstream to the element, and sample, it comes from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tensortap.core.dtypes import Array
from tensortap.index.graph.edges import RETURNED

from ...model_graph.op_types import ops
from ...model_graph.roles import Slot
from ..nonfinite_flow import FlowTensor, NonfiniteFlow
from ..upstream import Source
from .index_maps import Call, Part, Wanted, inputs_of_element
from .stored_elements import LISTS, StoredElements, image_axes, list_item_source, sample_of

MOST = 5  # elements of an origin that are shown: those that come from different ones
_FOLLOWED = 20  # number of elements to follow
MAX_TRAIL = 400  # ops that are walked back
# Which input is to blame where it is 0 (of a logarithm, and of a power: whatever it is).
_SUSPECTS = {
    **dict.fromkeys(ops("RealDiv Div Xdivy Mod FloorMod FloorDiv TruncateMod TruncateDiv"), 1),
    **dict.fromkeys(ops("SqrtGrad RsqrtGrad"), 0),
}
_DIFFERENCES = ops("Sub SquaredDifference")
_SUMS = ("Sum", "Mean", "AddN")
_MOVING = ops(
    "ReverseV2 Roll TopKV2 RandomShuffle ReverseSequence DynamicPartition DynamicStitch "
    "ParallelDynamicStitch TensorScatterUpdate TensorScatterAdd ScatterNd UnsortedSegmentSum SegmentSum "
    "UniqueV2 Where"
)
_CULPRITS = {"Xlogy": 1, "Xlog1py": 1, "Pow": 0}


@dataclass(frozen=True, slots=True)
class EqualOperand:
    """The element that an equal one was subtracted from, or that was subtracted from it."""

    tensor: str
    index: tuple[int, ...]
    value: float


@dataclass(frozen=True, slots=True)
class Element:
    """One element of one tensor. `kind`: `input`, `weight`, … or empty; `axes`: names of the dimensions of an
    image, else empty; `equal`: the other operand, if the element is subtracted from an equal one and the
    result 0 explains the trace; `graph`: of the call that computed it, if that is another one, else empty."""

    tensor: str
    node: str
    op_type: str
    layer: str
    kind: str
    visit: int
    index: tuple[int, ...]
    value: float
    axes: tuple[str, ...] = ()
    equal: EqualOperand | None = None
    graph: str = ""


@dataclass(frozen=True, slots=True)
class ElementTrace:
    """A non-finite element and where it comes from.

    Attributes:
        trail: from the element at the origin back; the second is the offending one. It ends at an input, a
            weight, or where no value was stored.
        row: which row of the batch it belongs to (the first index of the input it leads to), or None: also
            where all rows have the same part in it, as zeros have in a sum of zeros.
        sample: the id of that sample, where the run says which samples a step was fed.
        cut: whether it continues after the last of `MAX_TRAIL` ops.
    """

    trail: list[Element]
    row: int | None
    sample: str | None = None
    cut: bool = False


def trace_elements(flow: NonfiniteFlow, bad: FlowTensor) -> list[ElementTrace]:
    """Follows the first non-finite elements of an origin upstream; empty if its value was not stored.

    Of those that come from the same element (a row of a softmax does) one is enough.
    """
    stored = StoredElements(flow)
    found, causes = list[ElementTrace](), set[tuple[str, tuple[int, ...]]]()
    for index in stored.nonfinite(bad.slot, bad.visit, _FOLLOWED):
        trail, shared = _walk(flow, stored, bad.slot, bad.visit, index)
        cause = [(element.tensor, element.index) for element in trail[1:2]]
        if len(found) == MOST or (causes.issuperset(cause) and cause):
            continue
        causes.update(cause)
        ends = [element for element in trail if element.kind == "input" and element.index]
        row = None if shared else ends[-1].index[0] if ends else _row_of(flow, trail)
        cut = len(trail) == MAX_TRAIL
        found.append(ElementTrace(trail, row, sample_of(flow.tensors, row), cut))
    return found


def elementwise(flow: NonfiniteFlow, bad: FlowTensor) -> Iterator[tuple[tuple[int, ...], list[float]]]:
    """(index, the operands there) of the first non-finite elements of an elementwise op of stored values."""
    stored, step = StoredElements(flow), _Step(flow, bad.slot)
    for index in stored.nonfinite(bad.slot, bad.visit, _FOLLOWED):
        values = [candidate[3] for candidate in step.candidates(stored, bad.visit, index)]
        if all(value.size == 1 for value in values):
            yield index, [float(value.reshape(-1)[0]) for value in values]


def _walk(
    flow: NonfiniteFlow, stored: StoredElements, slot: Slot, visit: int | None, index: tuple[int, ...]
) -> tuple[list[Element], bool]:
    """The elements from one back, and whether all rows of the batch have the same part in it."""
    trail, shared = list[Element](), False
    before = slot, visit, index
    while len(trail) < MAX_TRAIL:
        value = stored.read(slot, visit, index)
        if value is None or value.size != 1:
            break
        trail.append(_element(flow, slot, visit, index, _real(value)))
        if len(trail) > 1 and trail[-2].op_type in _DIFFERENCES and trail[-2].value == 0:
            trail[-1] = replace(trail[-1], equal=_equal(flow, stored, before, trail[-1]))
        if trail[-1].kind in ("input", "weight") or _Step(flow, slot).op_type == "Const":
            break
        before = slot, visit, index
        following = _Step(flow, slot).back(stored, visit, index, trail[-1].value)
        if following is None:
            break
        slot, visit, index = following.slot, following.visit, following.index
        shared = shared or (following.even and _shape_of(flow, slot, visit)[0] in _batch_lengths(flow))
    return trail, shared


def _equal(
    flow: NonfiniteFlow,
    stored: StoredElements,
    difference: tuple[Slot, int | None, tuple[int, ...]],
    operand: Element,
) -> EqualOperand | None:
    """The other operand of a difference that is 0, where it is the same number."""
    slot, visit, index = difference
    for _, (source, _), parts, values in _Step(flow, slot).candidates(stored, visit, index):
        name = flow.tensors.name(source)
        same = values.size == 1 and _real(values) == operand.value
        if same and (name, parts) != (operand.tensor, operand.index):
            return EqualOperand(name, tuple(part for part in parts if isinstance(part, int)), _real(values))
    return None


def _element(
    flow: NonfiniteFlow, slot: Slot, visit: int | None, index: tuple[int, ...], value: float
) -> Element:
    graph = flow.tensors.graph
    return Element(
        tensor=flow.tensors.name(slot),
        node=graph.names[slot[0]],
        op_type=graph.op_type[slot[0]],
        layer=graph.layer[slot[0]],
        kind=flow.tensors.roles.kind.get(slot[0], ""),
        visit=flow.tensors.snapshot(slot, visit).visit if slot in flow.tensors.captured else 0,
        index=index,
        value=value,
        axes=image_axes(flow.tensors.roles, slot[0]) if len(index) == 4 else (),
    )


def _real(value: Array) -> float:
    item = value.reshape(-1)[0]
    return float(abs(item)) if np.iscomplexobj(value) else float(item)


def _row_of(flow: NonfiniteFlow, trail: list[Element]) -> int | None:
    """The row of the batch, from the first dimension if the tensor is as long as the batch. None if earlier
    ops may have reordered rows."""
    if _rows_may_move(flow, trail[-1]):
        return None
    lengths = _batch_lengths(flow)
    for element in reversed(trail):
        slot = (flow.tensors.graph.rows[element.node], int(element.tensor.rpartition(":")[2]))
        shape = _shape_of(flow, slot, None)
        if element.index and shape and shape[0] in lengths and element.kind != "weight":
            return element.index[0]
    return None


def _rows_may_move(flow: NonfiniteFlow, last: Element) -> bool:
    """Whether a trail ends at an unsupported op (with stored inputs), or after one that moves rows."""
    graph, roles, tensors = flow.tensors.graph, flow.tensors.roles, flow.tensors
    inputs = [(source, slot) for source, slot, _ in roles.inputs(graph.rows[last.node])]
    if any(slot in tensors.captured and tensors.snapshot(slot).kept for slot in inputs) and last.kind not in (
        "input",
        "weight",
    ):
        return True
    seen, left = set[int](), [graph.rows[last.node]]
    while left:
        row = left.pop()
        if graph.op_type[row] in _MOVING:
            return True
        taken = {source for source, _, position in roles.inputs(row) if position != RETURNED} - seen
        seen |= taken
        left += taken
    return False


def _batch_lengths(flow: NonfiniteFlow) -> set[int]:
    inputs = (_shape_of(flow, (row, 0), None) for row in flow.tensors.roles.of_kind("input"))
    return {shape[0] for shape in inputs if shape}


def _shape_of(flow: NonfiniteFlow, slot: Slot, visit: int | None) -> tuple[int, ...]:
    """Empty where it was not captured."""
    return flow.tensors.snapshot(slot, visit).shape if slot in flow.tensors.captured else ()


class _Step:
    """One op of the backtrace."""

    def __init__(self, flow: NonfiniteFlow, slot: Slot) -> None:
        self._flow, self._slot = flow, slot
        graph = flow.tensors.graph
        self.op_type = graph.op_type[slot[0]]
        self._inputs = [
            (r, s) for r, s, position in flow.tensors.roles.inputs(slot[0]) if position != RETURNED
        ]

    def back(
        self, stored: StoredElements, visit: int | None, index: tuple[int, ...], value: float
    ) -> _InputElement | None:
        """The element of an input that an element of the output comes from, if that is known."""
        tensors = self._flow.tensors
        if not self._inputs or self._slot not in tensors.captured:
            return None
        if len(self._inputs) == 1 and self.op_type in ("Identity", "StopGradient"):
            only = self._resolved(visit).get(0)
            return None if only is None else _InputElement(*only, index)
        if self.op_type in LISTS:
            behind = list_item_source(self._flow, stored, (self._slot, visit, index))
            held = None if behind is None else stored.read(*behind)
            same = held is not None and np.array_equal(held.astype(np.float64), value, equal_nan=True)
            return _InputElement(*behind) if behind is not None and same else None
        return _choose_element(
            self.op_type, self._without_weights(self.candidates(stored, visit, index)), index, value
        )

    def candidates(
        self, stored: StoredElements, visit: int | None, index: tuple[int, ...]
    ) -> list[_Candidate]:
        """The elements of the inputs that an element of the output is computed of, where they were stored."""
        tensors, resolved = self._flow.tensors, self._resolved(visit)
        call = Call(
            self.op_type,
            [self._shape(resolved.get(p)) for p in range(len(self._inputs))],
            tensors.snapshot(self._slot, visit).shape,
            lambda position, parts: self._integers(stored, resolved.get(position), parts),
            tensors.roles.attributes(self._slot[0]),
            self._slot[1],
        )
        candidates = []
        for position, parts in self._chosen(stored, resolved, inputs_of_element(call, index)):
            source = resolved.get(position)
            values = None if source is None else stored.read(source[0], source[1], parts)
            if source is not None and values is not None and values.size and values.dtype.kind in "fVi":
                candidates.append((position, source, parts, values.astype(np.float64)))
        return candidates

    def _chosen(self, stored: StoredElements, resolved: Mapping[int, _At], wanted: Wanted) -> Wanted:
        """The branch that the condition of a select chose, where that was stored."""
        if self.op_type != "SelectV2" or 0 not in resolved:
            return wanted
        parts = dict(wanted).get(0)
        condition = None if parts is None else stored.read(*resolved[0], parts)
        if condition is None or condition.size != 1:
            return wanted
        branch = 1 if bool(condition.reshape(-1)[0]) else 2
        return [each for each in wanted if each[0] == branch]

    def _without_weights(self, candidates: list[_Candidate]) -> list[_Candidate]:
        """Drops finite weights, which are the same for the whole batch. In sums of products they stay as
        factors, to find the largest term."""
        if len(candidates) < 2:
            return candidates
        first, second = candidates[0][3], candidates[1][3]
        if len(candidates) == 2 and first.shape == second.shape and first.ndim and np.isfinite(first).all():
            with np.errstate(all="ignore"):  # 0 * inf, for which the infinite one is to blame
                terms = first * second
            telling = ~np.isnan(terms)
            candidates = [
                (*candidate[:3], np.where(np.isfinite(candidate[3]) & telling, terms, candidate[3]))
                for candidate in candidates
            ]
        activations = [o for o in candidates if not (self._is_fixed(o) and np.isfinite(o[3]).all())]
        return activations or candidates

    def _is_fixed(self, candidate: _Candidate) -> bool:
        """Whether it is a weight or a constant."""
        row = candidate[1][0][0]
        tensors = self._flow.tensors
        return tensors.roles.kind.get(row) == "weight" or tensors.graph.op_type[row] == "Const"

    def _resolved(self, visit: int | None) -> dict[int, tuple[Slot, int | None]]:
        """Input position -> the captured tensor (and visit) or constant that it is."""
        found: dict[int, tuple[Slot, int | None]] = {}
        by_position: dict[int, list[Source]] = {}
        for source in self._flow.upstream.sources(self._slot[0], visit):
            by_position.setdefault(source.position, []).append(source)
        for position, sources in by_position.items():
            usable = [s for s in sources if not s.uncaptured and (s.captured or s.why == "constant")]
            chosen = next((s for s in usable if s.bad), usable[-1] if usable else None)
            if chosen is not None:
                at = self._flow.upstream.visit_of(chosen.slot[0], self._slot[0], visit)
                found[position] = chosen.slot, at
        for position, (row, slot) in enumerate(self._inputs):
            if position not in found and self._flow.tensors.graph.op_type[row] == "Const":
                found[position] = (row, slot), None
        return found

    def _shape(self, source: tuple[Slot, int | None] | None) -> tuple[int, ...] | None:
        if source is None:
            return None
        slot, visit = source
        if slot in self._flow.tensors.captured:
            return self._flow.tensors.snapshot(slot, visit).shape
        value = StoredElements(self._flow).constant(slot)
        return None if value is None else value.shape

    def _integers(
        self, stored: StoredElements, source: tuple[Slot, int | None] | None, parts: tuple[Part, ...] | None
    ) -> Array | None:
        if source is None:
            return None
        shape = self._shape(source)
        whole = (slice(None),) * len(shape or ())
        return stored.read(*source, whole if parts is None else parts)


_At = tuple[Slot, int | None]
_Candidate = tuple[int, _At, tuple[Part, ...], Array]


@dataclass(frozen=True, slots=True)
class _InputElement:
    """An element of an input; `even`: along its first dimension any other would do as well."""

    slot: Slot
    visit: int | None
    index: tuple[int, ...]
    even: bool = False


def _choose_element(
    op_type: str, candidates: list[_Candidate], index: tuple[int, ...], value: float
) -> _InputElement | None:
    """Chooses among the input elements of an output element: a non-finite one; else a 0 that is a divisor or
    made a product 0; else the largest magnitude."""
    if not candidates:
        return None
    if op_type in ("Softmax", "LogSoftmax"):
        candidates = [_own_place(candidate, index) for candidate in candidates]
    best = max(candidates, key=lambda candidate: _weight(op_type, candidate, value))
    _, (slot, visit), parts, values = best
    keys = np.where(np.isfinite(values), np.abs(values), np.inf)
    if value == 0 and op_type not in ("Softmax", "Exp"):
        keys = -np.where(np.isfinite(values), np.abs(values), np.inf)
    flat = int(np.argmax(keys))
    within = iter(np.unravel_index(flat, values.shape) if values.shape else ())
    several = parts[:1] == (slice(None),) and values.shape[0] > 1
    cancels = value == 0 and op_type in _SUMS
    even = several and bool(np.isfinite(values).all()) and (cancels or bool(np.ptp(values) == 0))
    return _InputElement(slot, visit, tuple(_absolute(part, within) for part in parts), even)


def _own_place(candidate: _Candidate, index: tuple[int, ...]) -> _Candidate:
    """A finite softmax element depends most on its own logit; a non-finite row on its non-finite elements."""
    position, source, _, values = candidate
    if not np.isfinite(values).all():
        return candidate
    return position, source, index, values[index[-1]]


def _absolute(part: Part, within: Any) -> int:
    if isinstance(part, slice):
        return int((part.start or 0) + (part.step or 1) * int(next(within)))
    return part


def _weight(op_type: str, candidate: _Candidate, value: float) -> tuple[int, float]:
    position, _, _, values = candidate
    if not np.isfinite(values).all():
        return 3, float(np.isnan(values).any())
    zero = bool((values == 0).any())
    if op_type in _CULPRITS and not np.isfinite(value):
        return (2 if position == _CULPRITS[op_type] else 1), 0.0
    if op_type in _SUSPECTS:
        suspect = position == _SUSPECTS[op_type]
        return (2, 0.0) if zero and suspect and not np.isfinite(value) else (1, float(np.abs(values).max()))
    if value == 0 and zero:
        return 2, 0.0
    return (0 if position and op_type in ("Select", "SelectV2") else 1), float(np.abs(values).max())
