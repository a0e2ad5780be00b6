"""Where the inputs of a node come from: back through arguments, calls and nodes that were not captured."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

from tensortap.core.dtypes import is_floating
from tensortap.index.graph.edges import RETURNED

from ..model_graph.call_dataflow import dataflow_of
from ..model_graph.op_types import CALLS, ops
from ..model_graph.roles import Slot
from ..run_view.step_tensors import StepTensors
from .operand import Operand, of_constant, of_snapshot, unknown

MAX_SEEN = 4000  # nodes looked at behind one node: where little was captured, the way back is long
_OPAQUE = ("", "variant")  # may carry floats: a TensorList, or a node that only snapshots name


@dataclass(frozen=True, slots=True)
class Source:
    """A tensor that a node's input comes from.

    Attributes:
        slot: the tensor. position: at which input of the node (-1: what a called function returned).
        captured: whether the step holds it. bad: whether it was non-finite when the node ran.
        uncaptured: nodes between that compute something and were not captured (rows).
        why: what an uncaptured source is: `constant`, `argument`, `variable`, `beyond` (too far away).
    """

    slot: Slot
    position: int
    captured: bool
    bad: bool
    uncaptured: tuple[int, ...] = ()
    why: str = ""


@dataclass(frozen=True, slots=True)
class _Way:
    """A tensor on the way back; `visit` bounds when it was made, None for at any time."""

    slot: Slot
    position: int
    visit: int | None
    uncaptured: tuple[int, ...]


class Upstream:
    """Answers where the inputs of a step's nodes come from."""

    def __init__(self, tensors: StepTensors) -> None:
        self.tensors = tensors
        self.graph, self.roles = tensors.graph, tensors.roles
        self.dataflow = dataflow_of(tensors.graph)

    def sources(self, row: int, visit: int | None = None) -> list[Source]:
        """The nearest captured tensors (and uncaptured ends) behind each input of a node, at a visit."""
        waiting = deque(
            _Way((source, slot), position, self._same_time(source, row, visit), ())
            for source, slot, position in self.roles.inputs(row)
        )
        if (
            row in self.dataflow.repeated_calls
        ):  # the call that the graph names has what it returned among its inputs
            for slot in range(len(self.graph.slot_texts(row))):
                waiting.extend(_Way(each, RETURNED, None, ()) for each in self.dataflow.returned((row, slot)))
        return self._followed(waiting)

    def tensor(self, slot: Slot, visit: int | None = None) -> list[Source]:
        """The tensor itself if it was captured, else the nearest captured ones that it is made of."""
        return self._followed(deque([_Way(slot, 0, visit, ())]))

    def _followed(self, waiting: deque[_Way]) -> list[Source]:
        found: list[Source] = []
        seen: set[tuple[Slot, int | None]] = set()
        while waiting:
            way = waiting.popleft()
            if (way.slot, way.visit) in seen and way.position == RETURNED:
                continue
            seen.add((way.slot, way.visit))
            if len(seen) > MAX_SEEN or len(found) > MAX_SEEN:
                found.append(Source(way.slot, way.position, False, False, way.uncaptured, "beyond"))
                break
            self._look(way, found, waiting, seen)
        return found

    def _look(
        self, way: _Way, found: list[Source], waiting: deque[_Way], seen: set[tuple[Slot, int | None]]
    ) -> None:
        row, slot = way.slot
        if way.slot in self.tensors.captured:
            bad = self.tensors.bad_at(way.slot, way.visit)
            found.append(Source(way.slot, way.position, True, bad, way.uncaptured))
        elif not self.may_be_bad(row, slot):
            if self.graph.op_type[row] == "_Arg":  # labels, indices: what is passed may have been captured
                waiting.extend(w for w in self._passed(way) if (w.slot, w.visit) not in seen)
        elif self.graph.op_type[row] == "Const":
            bad = self.constant(row).bad > 0
            found.append(Source(way.slot, way.position, False, bad, way.uncaptured, "constant"))
        else:
            further = [w for w in self._inputs_of(way) if (w.slot, w.visit) not in seen]
            if further:
                waiting.extend(further)
            else:
                why = "argument" if self.graph.op_type[row] == "_Arg" else "variable"
                found.append(Source(way.slot, way.position, False, False, way.uncaptured, why))

    def _inputs_of(self, way: _Way) -> Iterator[_Way]:
        """Inputs of an uncaptured tensor."""
        row, _ = way.slot
        op_type = self.graph.op_type[row]
        if op_type == "_Arg":
            yield from self._passed(way)
        elif row in self.dataflow.called:
            for returned in self.dataflow.returned(way.slot):
                yield _Way(returned, way.position, None, way.uncaptured)
        else:
            behind = way.uncaptured if op_type in PASSIVE else (*way.uncaptured[:8], row)
            for source, from_slot, _ in self.roles.inputs(row):
                if self.may_be_bad(source, from_slot):
                    yield _Way((source, from_slot), way.position, way.visit, behind)

    def _passed(self, way: _Way) -> Iterator[_Way]:
        for slot, visit in self.dataflow.passed(way.slot[0], way.visit):
            yield _Way(slot, way.position, visit, way.uncaptured)

    def visit_of(self, source: int, row: int, visit: int | None) -> int | None:
        """The visit at which `source` made what `row` took at a visit: the one before, where a loop passed it
        on; None (any) where visits of the two are not comparable."""
        if visit is None or self._same_time(source, row, visit) is None:
            return None
        later = int(self.graph.order[source]) > int(self.graph.order[row])
        return visit - 1 if later and visit else visit

    def _same_time(self, source: int, target: int, visit: int | None) -> int | None:
        """Visits are comparable within a function only."""
        function = self.graph.function
        return visit if function.codes[source] == function.codes[target] else None

    def may_be_bad(self, row: int, slot: int) -> bool:
        """Whether a tensor's dtype can hold (or hide) a NaN; handles of variables end the way back."""
        texts = self.graph.slot_texts(row)
        dtype = texts[slot][0] if slot < len(texts) else ""
        return is_floating(dtype) or dtype in _OPAQUE

    def constant(self, row: int) -> Operand:
        """Operand of a constant."""
        return of_constant(f"{self.graph.names[row]}:0", self.roles.attributes(row).get("value", ""))

    def operand(self, source: Source, visit: int | None) -> Operand:
        """Operand of a source at a visit."""
        if source.captured:
            return of_snapshot(self.tensors.snapshot(source.slot, visit))
        if source.why == "constant":
            return self.constant(source.slot[0])
        return unknown(self.tensors.name(source.slot))


# They hand on what they are given: not having captured them hides nothing.
PASSIVE = ops(
    "Identity IdentityN StopGradient PreventGradient Snapshot Reshape ExpandDims Squeeze Enter Exit Merge "
    "Switch NextIteration RefIdentity Transpose EmptyTensorList TensorListPushBack TensorListPopBack "
    "TensorListReserve TensorListSetItem TensorListGetItem TensorListStack TensorListFromTensor "
    "OptionalFromValue OptionalGetValue Slice StridedSlice Split SplitV Unpack Pack ConcatV2 "
    "EnsureShape CheckNumerics CheckNumericsV2 DeepCopy"
)


def computes_nothing(op_type: str) -> bool:
    """Whether an op computes nothing: of finite inputs it never makes a NaN or an infinity."""
    return op_type in PASSIVE or op_type in CALLS or op_type.startswith("TensorList")
