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

MAX_SEEN = 4000  # nodes visited upstream of one node: where little was captured, the search is long
_OPAQUE = ("", "variant")  # may carry floats: a TensorList, or a node that only snapshots name


@dataclass(frozen=True, slots=True)
class Source:
    """A tensor that a node's input comes from.

    Attributes:
        slot: the tensor. position: at which input of the node (-1: what a called function returned).
        captured: whether the step holds it. bad: whether it was non-finite when the node ran.
        uncaptured: nodes between that compute something and were not captured (rows).
        why: what an uncaptured source is: `constant`, `argument`, `variable`, `beyond` (too far away),
            `iteration` (of a loop, skipped).
    """

    slot: Slot
    position: int
    captured: bool
    bad: bool
    uncaptured: tuple[int, ...] = ()
    why: str = ""


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A tensor to search. `visit` bounds the time of its computation; None for any time."""

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
        """The nearest captured tensors (and uncaptured ends) upstream of each input of a node, at a visit."""
        waiting = deque(
            _Candidate((source, slot), position, self._same_time(source, row, visit), ())
            for source, slot, position in self.roles.inputs(row)
        )
        if (
            row in self.dataflow.repeated_calls
        ):  # the call that the graph names has its results among its inputs
            for slot in range(len(self.graph.slot_texts(row))):
                waiting.extend(
                    _Candidate(each, RETURNED, None, ()) for each in self.dataflow.returned((row, slot))
                )
        return self._followed(waiting)

    def tensor(self, slot: Slot, visit: int | None = None) -> list[Source]:
        """The tensor itself if it was captured, else its nearest captured ancestors."""
        return self._followed(deque([_Candidate(slot, 0, visit, ())]))

    def _followed(self, waiting: deque[_Candidate]) -> list[Source]:
        found: list[Source] = []
        seen: set[tuple[Slot, int | None]] = set()
        while waiting:
            candidate = waiting.popleft()
            if (candidate.slot, candidate.visit) in seen and candidate.position == RETURNED:
                continue
            seen.add((candidate.slot, candidate.visit))
            if len(seen) > MAX_SEEN or len(found) > MAX_SEEN:
                found.append(
                    Source(candidate.slot, candidate.position, False, False, candidate.uncaptured, "beyond")
                )
                break
            self._look(candidate, found, waiting, seen)
        return found

    def _look(
        self,
        candidate: _Candidate,
        found: list[Source],
        waiting: deque[_Candidate],
        seen: set[tuple[Slot, int | None]],
    ) -> None:
        row, slot = candidate.slot
        if candidate.slot in self.tensors.captured:
            bad = self.tensors.bad_at(candidate.slot, candidate.visit)
            seen_then = bad or not self._skipped(candidate)
            why, between = "" if seen_then else "iteration", candidate.uncaptured
            found.append(Source(candidate.slot, candidate.position, seen_then, bad, between, why))
        elif not self.may_be_bad(row, slot):
            if self.graph.op_type[row] == "_Arg":  # labels, indices: the passed tensor may be captured
                waiting.extend(w for w in self._passed(candidate) if (w.slot, w.visit) not in seen)
        elif self.graph.op_type[row] == "Const":
            bad = self.constant(row).bad > 0
            found.append(
                Source(candidate.slot, candidate.position, False, bad, candidate.uncaptured, "constant")
            )
        else:
            further = [w for w in self._inputs_of(candidate) if (w.slot, w.visit) not in seen]
            if further:
                waiting.extend(further)
            else:
                why = "argument" if self.graph.op_type[row] == "_Arg" else "variable"
                found.append(
                    Source(candidate.slot, candidate.position, False, False, candidate.uncaptured, why)
                )

    def _skipped(self, candidate: _Candidate) -> bool:
        """Whether the iteration of a loop that computed a tensor was not captured."""
        slot, visit = candidate.slot, candidate.visit
        if visit is None or not self.dataflow.in_a_loop(self.graph.function[slot[0]]):
            return False
        return self.tensors.snapshot(slot, visit).visit != visit

    def _inputs_of(self, candidate: _Candidate) -> Iterator[_Candidate]:
        """Inputs of an uncaptured tensor."""
        row, _ = candidate.slot
        op_type = self.graph.op_type[row]
        if op_type == "_Arg":
            yield from self._passed(candidate)
        elif row in self.dataflow.called:
            for returned in self.dataflow.returned(candidate.slot):
                yield _Candidate(returned, candidate.position, None, candidate.uncaptured)
        else:
            behind = candidate.uncaptured if op_type in PASSIVE else (*candidate.uncaptured[:8], row)
            for source, from_slot, _ in self.roles.inputs(row):
                if self.may_be_bad(source, from_slot):
                    yield _Candidate((source, from_slot), candidate.position, candidate.visit, behind)

    def _passed(self, candidate: _Candidate) -> Iterator[_Candidate]:
        for slot, visit in self.dataflow.passed(candidate.slot[0], candidate.visit):
            yield _Candidate(slot, candidate.position, visit, candidate.uncaptured)

    def visit_of(self, source: int, row: int, visit: int | None) -> int | None:
        """The visit at which `source` computed what `row` used at a visit: the previous one, if a loop
        forwarded it. None (any) if their visits are not comparable."""
        if visit is None or self._same_time(source, row, visit) is None:
            return None
        later = int(self.graph.order[source]) > int(self.graph.order[row])
        return visit - 1 if later and visit else visit

    def _same_time(self, source: int, target: int, visit: int | None) -> int | None:
        """Visits are comparable within a function only."""
        function = self.graph.function
        return visit if function.codes[source] == function.codes[target] else None

    def may_be_bad(self, row: int, slot: int) -> bool:
        """Whether a tensor's dtype can contain (or hide) a NaN; handles of variables end the search."""
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


# They only forward their inputs: not having captured them hides nothing.
PASSIVE = ops(
    "Identity IdentityN StopGradient PreventGradient Snapshot Reshape ExpandDims Squeeze Enter Exit Merge "
    "Switch NextIteration RefIdentity Transpose EmptyTensorList TensorListPushBack TensorListPopBack "
    "TensorListReserve TensorListSetItem TensorListGetItem TensorListStack TensorListFromTensor "
    "OptionalFromValue OptionalGetValue Slice StridedSlice Split SplitV Unpack Pack ConcatV2 "
    "EnsureShape CheckNumerics CheckNumericsV2 DeepCopy"
)


def computes_nothing(op_type: str) -> bool:
    """Whether an op only moves values, i.e. never makes NaN or infinities from finite inputs."""
    return op_type in PASSIVE or op_type in CALLS or op_type.startswith("TensorList")
