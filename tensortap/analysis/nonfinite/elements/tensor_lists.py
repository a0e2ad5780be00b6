"""Elements followed through the lists that loops read from and write to (map_fn, RNN, TensorArray)."""

from __future__ import annotations

from ...model_graph.roles import Slot
from ..nonfinite_flow import NonfiniteFlow
from .stored_elements import StoredElements

LISTS = ("TensorListGetItem", "TensorListStack")
Place = tuple[Slot, int | None, tuple[int, ...]]  # a tensor, at which visit, which element


def list_item_source(flow: NonfiniteFlow, kept: StoredElements, element: Place) -> Place | None:
    """The element that an element of an item of a list, or of its stack, is; None where nobody knows which
    item it is, or where several tensors may have filled the list."""
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
    """Which item of a list a node takes or puts, at a visit."""
    given = [(source, slot) for source, slot, position in flow.tensors.roles.inputs(row) if position == 1]
    places = [(each, visit) for each in given]
    if given and flow.tensors.graph.op_type[given[0][0]] == "_Arg":  # of a loop: what it counts
        places = list(flow.upstream.dataflow.passed(given[0][0], visit))
    if len(places) != 1 or not _was_seen(flow, *places[0]):
        return None
    value = kept.read(*places[0], ())
    return int(value) if value is not None and value.shape == () and value.dtype.kind in "iu" else None


def _was_seen(flow: NonfiniteFlow, slot: Slot, visit: int | None) -> bool:
    """Whether a tensor was captured at that very visit, or is a constant."""
    tensors = flow.tensors
    return visit is None or slot not in tensors.captured or tensors.snapshot(slot, visit).visit == visit
