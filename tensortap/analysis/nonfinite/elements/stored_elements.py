"""Single elements of the values that a step stored, read as little as possible.

`StoredElements` reads them; `list_item_source` follows one through the lists that loops read and write
(map_fn, RNN, TensorArray); `image_axes` and `sample_of` name its dimensions and its sample.
"""

from __future__ import annotations

import numpy as np

from tensortap.core.dtypes import Array
from tensortap.core.errors import TensortapError
from tensortap.index.values import nonfinite_elements, read_slice

from ...model_graph.op_types import constant_text, nested_list, ops
from ...model_graph.roles import Roles, Slot
from ...run_view.step_tensors import StepTensors
from ..nonfinite_flow import NonfiniteFlow
from .index_maps import ELEMENTWISE

MAX_BYTES = 8 << 20  # of one slice: a sum over more elements is not checked


class StoredElements:
    """Reads elements of a step's tensors; None or empty if no value was stored."""

    def __init__(self, flow: NonfiniteFlow) -> None:
        self._flow = flow

    def read(self, slot: Slot, visit: int | None, parts: tuple[int | slice, ...]) -> Array | None:
        """A slice of a captured value or of a small constant."""
        if slot not in self._flow.tensors.captured:
            value = self.constant(slot)
            try:
                return None if value is None else np.asarray(value[parts])
            except IndexError:  # a graph whose shapes do not fit
                return None
        snapshot = self._flow.tensors.snapshot(slot, visit)
        if not snapshot.kept or len(parts) != len(snapshot.shape):
            return None
        try:
            return np.asarray(read_slice(self._flow.tensors.run, snapshot, parts, limit=MAX_BYTES))
        except (TensortapError, OSError):  # damaged, sampled, too large, or just deleted
            return None

    def constant(self, slot: Slot) -> Array | None:
        """The value of a constant that the graph writes out."""
        text = constant_text(self._flow.tensors.roles.attributes(slot[0]))
        found = None if text is None else nested_list(text)
        try:
            return None if found is None else np.asarray(found)
        except ValueError:  # rows of unequal length
            return None

    def nonfinite(self, slot: Slot, visit: int, limit: int) -> list[tuple[int, ...]]:
        """Positions of the first non-finite elements of a whole stored value."""
        snapshot = self._flow.tensors.snapshot(slot, visit)
        if not snapshot.kept:
            return []
        try:
            found = nonfinite_elements(self._flow.tensors.run, snapshot, limit=limit, at_any_length=True)
        except (TensortapError, OSError):
            return []
        whole = found.total == snapshot.nan + snapshot.pos_inf + snapshot.neg_inf
        fits = found.indices.shape[1:] == (len(snapshot.shape),)
        return [tuple(index) for index in found.indices.tolist()] if whole and fits else []


_SPATIAL = ops(
    "Conv2D DepthwiseConv2dNative Conv2DBackpropInput MaxPool MaxPoolV2 AvgPool ResizeBilinear "
    "ResizeNearestNeighbor ResizeBicubic DepthToSpace SpaceToDepth CropAndResize"
)
_KEEPS = ELEMENTWISE | ops(
    "BiasAdd FusedBatchNorm FusedBatchNormV2 FusedBatchNormV3 Pad PadV2 _Arg IteratorGetNext"
)
_NEAR = 40  # nodes that are checked around a tensor
_LAST = ("row", "y", "x", "channel")
_FIRST = ("row", "channel", "y", "x")


def image_axes(roles: Roles, row: int) -> tuple[str, ...]:
    """Names of the four dimensions of a node's output, if a convolution, pooling or the like makes or takes
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
    """The id (or file) of the sample in a row of a step's batch; None if the run does not record it, or the
    worker was fed several batches in that step."""
    batches = tensors.run.events.batches(tensors.step)
    mine = [batch for batch in batches if tensors.worker in ("", batch.worker)]
    if row is None or len(mine) != 1:
        return None
    names = mine[0].ids or mine[0].files or []
    return names[row] if 0 <= row < len(names) else None


LISTS = ("TensorListGetItem", "TensorListStack")
ElementPlace = tuple[Slot, int | None, tuple[int, ...]]  # a tensor, at which visit, which element


def list_item_source(flow: NonfiniteFlow, kept: StoredElements, element: ElementPlace) -> ElementPlace | None:
    """The element that a list item, or an element of its stack, was copied from; None if the item is unknown,
    or several tensors may have filled the list."""
    slot, visit, index = element
    tensors, row = flow.tensors, slot[0]
    filled = {source.slot for source in flow.upstream.sources(row, visit) if source.position == 0}
    captured = [each for each in filled if each in tensors.captured]
    if len(captured) != 1:
        return None
    source, shape = captured[0], tensors.snapshot(slot, visit).shape
    visits, item = len(tensors.captured[source]), tensors.snapshot(source).shape
    if tensors.graph.op_type[row] == "TensorListGetItem":
        number = _number(flow, kept, row, visit)
        if number is None or visits > 1 or item[1:] != shape:
            return None
        return source, None, (number, *index)
    put = [each for each in tensors.roles.consumers(*source) if _puts(flow, each)]
    if len(put) != 1 or shape != (visits, *item):
        return None
    turns = (at for at in (index[0], visits - 1 - index[0]) if _number(flow, kept, put[0], at) == index[0])
    return next(((source, at, index[1:]) for at in turns), None)  # loops count up, or down


def _puts(flow: NonfiniteFlow, row: int) -> bool:
    return flow.tensors.graph.op_type[row] == "TensorListSetItem"


def _number(flow: NonfiniteFlow, kept: StoredElements, row: int, visit: int | None) -> int | None:
    """The number of the list item that a node reads or writes at a visit."""
    numbers = [(source, slot) for source, slot, position in flow.tensors.roles.inputs(row) if position == 1]
    places = [(each, visit) for each in numbers]
    if numbers and flow.tensors.graph.op_type[numbers[0][0]] == "_Arg":  # of a loop: what it counts
        places = list(flow.upstream.dataflow.passed(numbers[0][0], visit))
    if len(places) != 1 or not _was_seen(flow, *places[0]):
        return None
    value = kept.read(*places[0], ())
    return int(value) if value is not None and value.shape == () and value.dtype.kind in "iu" else None


def _was_seen(flow: NonfiniteFlow, slot: Slot, visit: int | None) -> bool:
    """Whether a tensor was captured at that very visit, or is a constant."""
    tensors = flow.tensors
    return visit is None or slot not in tensors.captured or tensors.snapshot(slot, visit).visit == visit
