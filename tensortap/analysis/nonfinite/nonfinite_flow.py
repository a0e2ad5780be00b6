"""The non-finite tensors of one step in data flow order: which are origins, and which were propagated."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from tensortap.index.snapshot import Snapshot

from ..model_graph.op_types import INPUTS, REPLACING, VARIABLE_READS, ops
from ..model_graph.roles import Slot
from ..run_view.step_tensors import StepTensors
from .upstream import Source, Upstream, computes_nothing

# The verdict on a non-finite tensor: `origin`: its inputs are finite; `suspected`: perhaps an origin, as some
# of its inputs were not captured; `inf_to_nan`: its inputs were infinite, it is NaN; `data`: it came in with
# the step's inputs; `from_variable`: a variable held it when the step began; `constant`: the program says so;
# `propagated`: an input was not finite.
VERDICTS = ("origin", "suspected", "inf_to_nan", "data", "from_variable", "constant", "propagated")

_MAX_NODES = 20_000  # tensors to check downstream of one tensor
# One operand, elementwise: more non-finite elements after than before mean that some originate here.
_UNARY = ops("Log Log1p Exp Expm1 Sqrt Rsqrt Reciprocal Inv Square Cast Relu Neg Abs")


_SAME = ("size", "nan", "pos_inf", "neg_inf", "zero", "negative", "positive", "min", "max", "mean", "l2")


def numbers(snapshot: Snapshot) -> tuple[object, ...]:
    """A key that is the same for equal tensors. NaN (no finite elements) equals NaN."""
    found = (getattr(snapshot, name) for name in _SAME)
    return (snapshot.dtype, *("nan" if number != number else number for number in found))


@dataclass(frozen=True, slots=True)
class FlowTensor:
    """One non-finite tensor. `visit`: the first visit with NaN or infinities. `sources`: where its inputs
    come from."""

    slot: Slot
    visit: int
    verdict: str
    sources: tuple[Source, ...]

    @property
    def missing(self) -> list[Source]:
        """Sources that were not captured, or that reach the node only through uncaptured nodes."""
        return [s for s in self.sources if s.uncaptured or not (s.captured or s.why == "constant")]


class NonfiniteFlow:
    """All non-finite tensors of a step.

    Attributes:
        tensors, upstream: the step. bad: slot -> tensor, in data flow order. children: slot -> the non-finite
        tensors that it propagated to. internal_outputs: what functions return to others than the program.
    """

    def __init__(self, tensors: StepTensors) -> None:
        self.tensors = tensors
        self.upstream = Upstream(tensors)
        order = tensors.graph.order
        slots = sorted(tensors.bad, key=lambda slot: (tensors.bad[slot], int(order[slot[0]]), slot))
        slots.sort(key=lambda slot: int(order[slot[0]]))
        self.bad = {slot: self._flow_tensor(slot) for slot in slots}
        self.internal_outputs: set[Slot] = set()
        self.children: dict[Slot, list[Slot]] = {}
        for slot, tensor in self.bad.items():
            for source in tensor.sources:
                if source.captured and source.bad:
                    self.children.setdefault(source.slot, []).append(slot)

    def _flow_tensor(self, slot: Slot) -> FlowTensor:
        row, visit = slot[0], self.tensors.bad[slot]
        sources = self.upstream.sources(row, visit) or self._assigned(row)
        sources = sources + self._of_replicas(slot) if self._is_collective(row) else sources
        return FlowTensor(slot, visit, self._classify(slot, visit, sources), tuple(sources))

    def _classify(self, slot: Slot, visit: int, sources: list[Source]) -> str:
        graph, roles = self.tensors.graph, self.tensors.roles
        op_type, kind = graph.op_type[slot[0]], roles.kind.get(slot[0], "")
        bad = [source for source in sources if source.bad]
        if bad:
            return self._classify_propagated(slot, visit, bad)
        if op_type in VARIABLE_READS or (kind == "weight" and not sources):
            return "from_variable"
        if kind == "input" or (op_type in INPUTS and not sources):
            return "data"
        if op_type == "Const":
            return "constant"
        unseen = any(s.uncaptured or not s.captured for s in sources if not self._known_constant(s))
        if unseen or not roles.inputs_complete(slot[0]) or not (sources or graph.cell("inputs", slot[0])):
            return "suspected"
        return "suspected" if computes_nothing(op_type) else "origin"

    def _known_constant(self, source: Source) -> bool:
        return (
            source.why == "constant"
            and not source.uncaptured
            and self.upstream.constant(source.slot[0]).known
        )

    def _classify_propagated(self, slot: Slot, visit: int, bad: list[Source]) -> str:
        out = self.tensors.snapshot(slot, visit)
        op_type = self.tensors.graph.op_type[slot[0]]
        if not computes_nothing(op_type):
            if out.nan and not any(self._held_nan(source, slot[0], visit) for source in bad):
                return "inf_to_nan"
            if op_type in _UNARY and len(bad) == 1 and not bad[0].uncaptured:
                before = self.upstream.operand(bad[0], self.upstream.visit_of(bad[0].slot[0], slot[0], visit))
                if before.size == out.size and before.bad < out.nan + out.pos_inf + out.neg_inf:
                    return "origin"
        if all(source.why == "constant" for source in bad):
            return "constant"
        return "propagated"

    def _held_nan(self, source: Source, row: int, visit: int) -> bool:
        """Whether a source held NaN when `row` took it at a visit; at any, where that is unknown."""
        if not source.captured:
            return self.upstream.operand(source, None).nan > 0
        at = self.upstream.visit_of(source.slot[0], row, visit)
        if at is not None:
            return self.tensors.snapshot(source.slot, at).nan > 0
        rows = self.tensors.captured[source.slot]
        return bool((self.tensors.run.catalog.column("nan", rows) > 0).any())

    def _assigned(self, row: int) -> list[Source]:
        """A variable read after an assignment of the step has the assigned value."""
        graph, roles = self.tensors.graph, self.tensors.roles
        if graph.op_type[row] not in VARIABLE_READS:
            return []
        resources = {source for source, _, _ in roles.inputs(row)}
        found: list[Source] = []
        for text in graph.cell("inputs", row) or []:
            writer = graph.rows.get(text[1:]) if text.startswith("^") else None
            if writer is None or not roles.is_update(writer):
                continue
            # The handle is not a node in eager code: there an edge joins only ops on one variable.
            if not resources or resources & {source for source, _, _ in roles.inputs(writer)}:
                found += self.upstream.sources(writer)
        return found

    def _is_collective(self, row: int) -> bool:
        return self.tensors.graph.op_type[row].startswith(("CollectiveReduce", "NcclAllReduce"))

    def _of_replicas(self, slot: Slot) -> list[Source]:
        """What the other replicas add to an all-reduced tensor: the sources of those with equal numbers."""
        tensors = self.tensors
        own = numbers(tensors.snapshot(slot, tensors.bad[slot]))
        return [
            source
            for other, visit in tensors.bad.items()
            if other != slot and self._is_collective(other[0]) and other[1] == slot[1]
            if numbers(tensors.snapshot(other, visit)) == own
            for source in self.upstream.sources(other[0], visit)
        ]

    def origins(self) -> list[FlowTensor]:
        """The tensors with non-finite values that their inputs do not explain, in data flow order."""
        return [tensor for tensor in self.bad.values() if tensor.verdict != "propagated"]

    @cached_property
    def replaced(self) -> dict[Slot, int]:
        """Non-finite gradients whose NaN and infinities the program replaces after the backward pass
        (`tf.where(is_finite(g), g, 0)`): slot -> row of that node.

        Only where that node's output was captured finite and no way round it may lead to a variable:
        `tf.clip_by_norm` has a select, too, but passes NaN around it.
        """
        graph, roles = self.tensors.graph, self.tensors.roles
        found = dict[Slot, int]()
        for slot in self.downstream_of_gradients(self.bad):
            for row in roles.consumers(*slot):
                if graph.op_type[row] not in REPLACING or roles.is_backward(row) or not self.is_finite(row):
                    continue
                if not self.may_update(slot):
                    found.setdefault(slot, row)
        return found

    def downstream_of_gradients(self, slots: Iterable[Slot]) -> dict[Slot, Slot | None]:
        """Non-finite tensors that the backward pass made, and all that they propagated to."""
        return self.descendants(slot for slot in slots if self.tensors.roles.is_backward(slot[0]))

    def is_finite(self, row: int) -> bool:
        """Whether a node's first output was captured, and finite."""
        return (row, 0) in self.tensors.captured and (row, 0) not in self.bad

    def updates(self, slot: Slot) -> bool:
        """Whether a tensor is assigned to a variable unchanged."""
        roles = self.tensors.roles
        return any(map(roles.is_update, roles.consumers(*slot)))

    def may_update(self, slot: Slot) -> bool:
        """Whether non-finite elements of a tensor may reach a variable or its gradient, through tensors that
        are not finite or were not captured."""
        roles, waiting = self.tensors.roles, [slot]
        seen = set(waiting)
        while waiting:
            slot = waiting.pop()
            if self.updates(slot) or len(seen) > _MAX_NODES:
                return True
            for row in roles.consumers(*slot):
                further = [each for each in self._maybe_bad(row) if each not in seen]
                if further and roles.kind.get(row) in ("gradient", "weight"):
                    return True
                seen.update(further)
                waiting += further
        return False

    def _maybe_bad(self, row: int) -> Iterator[Slot]:
        """The outputs of a node that are not finite or unknown."""
        for at in range(len(self.tensors.graph.slot_texts(row))):
            slot = row, at
            if slot in self.bad or (slot not in self.tensors.captured and self.upstream.may_be_bad(row, at)):
                yield slot

    def descendants(self, slots: Iterable[Slot]) -> dict[Slot, Slot | None]:
        """All non-finite tensors downstream, each with its predecessor on the shortest path."""
        before: dict[Slot, Slot | None] = dict.fromkeys(slots)
        waiting = deque(before)
        while waiting:
            slot = waiting.popleft()
            for child in self.children.get(slot, ()):
                if child not in before:
                    before[child] = slot
                    waiting.append(child)
        return before
