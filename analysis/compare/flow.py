"""Differences followed along the data flow: rounding, those that begin at a node, those handed on."""

from __future__ import annotations

import math
from dataclasses import dataclass

from tensortap.index import RETURNED, GraphIndex

from ..ops import ops
from ..provenance.step import Slot, StepTensors
from ..roles import roles_of
from .noise import GROWTH, RTOL, noise_ceiling, noise_limit
from .pairs import Measured, error_of
from .ulp import common_dtype

# `same`: equal, bit by bit as far as is known; `noise`: rounding explains it; `diverges`: inputs are equal up
# to noise, the output is not; `inherited`: its inputs differed already; `amplified`: they did, and it differs
# ten times more than they.
VERDICTS = ("diverges", "amplified", "inherited", "noise", "same")

VARIABLES = ops("ReadVariableOp ResourceGather ResourceGatherNd VariableV2 Variable")
MAX_TERMS = 256  # of a sum that are rounded one after the other; kernels add longer ones in blocks
_PRODUCTS = ops("MatMul BatchMatMul BatchMatMulV2 BatchMatMulV3 Einsum")
_SUMS = _PRODUCTS | ops("Sum Mean Prod BiasAddGrad Softmax LogSoftmax AddN SegmentSum UnsortedSegmentSum")
_LOOPS = ops("While StatelessWhile")
_WRITERS = ("Assign", "ResourceApply", "ResourceScatter")
_EXACT = ops("Reshape Transpose Identity Squeeze ExpandDims StopGradient Shape")  # no rounding of their own


@dataclass(frozen=True, slots=True)
class State:
    """What flows out of a node: difference as a part of the scale, absolute difference, whether something
    diverged on the way, roundings since the tensors stopped being equal, `RTOL` of the coarsest dtype on the
    way, and how many elements the tensor has (0: unknown)."""

    relative: float = 0.0
    absolute: float = 0.0
    diverged: bool = False
    depth: int = 0
    rtol: float = 0.0
    size: int = 0


@dataclass(frozen=True, slots=True)
class Judged:
    """A tensor at a visit. `limit`: the part of its scale that rounding explains; `before`: what its inputs
    hand it."""

    slot: Slot
    measured: Measured
    verdict: str
    limit: float
    before: State


class DifferenceFlow:
    """The verdicts on one graph's tensors at a step, in data flow order, visit after visit.

    Loops: what flows out of a loop's body at one visit flows into it at the next.

    Args:
        carried: what the steps before hand to variables: `depth` and `rtol`.
    """

    def __init__(
        self, tensors: StepTensors, found: dict[Slot, list[Measured]], carried: State | None = None
    ) -> None:
        self._graph, self._roles = tensors.graph, roles_of(tensors.graph)
        self._by_node: dict[int, list[tuple[int, dict[int, Measured]]]] = {}
        for (row, slot), measures in found.items():
            self._by_node.setdefault(row, []).append((slot, {m.a.visit: m for m in measures}))
        self._state: dict[Slot, State] = {}
        self._carried = carried or State()
        self._judged: dict[tuple[Slot, int], Judged] = {}
        self._callers = self._loop_callers()
        visits = sorted({m.a.visit for measures in found.values() for m in measures})
        rows = sorted(range(len(self._graph)), key=self._graph.order.__getitem__)
        self._walk(rows, visits[0] if visits else 0)
        repeated = self._repeated()
        inside = [row for row in rows if self._graph.function[row] in repeated]
        for visit in visits[1:]:
            self._walk(inside, visit, again=True)
        if visits[1:]:  # what lies behind a loop takes what its last visit left
            self._walk([row for row in rows if self._graph.function[row] not in repeated], visits[0])

    @property
    def judged(self) -> list[Judged]:
        """The verdicts."""
        return list(self._judged.values())

    def _loop_callers(self) -> dict[str, int]:
        """Functions that a loop calls -> row of the node that is the loop."""
        graph = self._graph
        found = {name: graph.rows.get(info.caller or "", -1) for name, info in graph.functions.items()}
        return {name: row for name, row in found.items() if row >= 0 and graph.op_type[row] in _LOOPS}

    def _repeated(self) -> set[str]:
        """Functions with tensors of several visits."""
        several = (row for row, slots in self._by_node.items() if any(len(m) > 1 for _, m in slots))
        return {self._graph.function[row] for row in several} | self._callers.keys()

    def _walk(self, rows: list[int], visit: int, *, again: bool = False) -> None:
        for row in rows:
            before = self._before(row, again)
            self._state[row, -1] = before  # of slots that were not captured
            for slot, found in self._by_node.get(row, ()):
                if visit in found:
                    self._judge(row, slot, found[visit], before)

    def _before(self, row: int, again: bool) -> State:
        taken = self._roles.inputs(row)
        if not taken and again:  # an argument of a loop's body
            caller = self._callers.get(self._graph.function[row], row)
            taken = [entry for entry in self._roles.inputs(caller) if entry[2] == RETURNED]
        states = [self._out(source, slot) for source, slot, _ in taken]
        if self._graph.op_type[row] in VARIABLES:
            states += [self._carried, *self._assigned(row)]
        if not states:
            return State()
        return State(
            max(state.relative for state in states),
            max(state.absolute for state in states),
            any(state.diverged for state in states),
            max(state.depth for state in states) + self._roundings(row, states),
            max(state.rtol for state in states),
            max(state.size for state in states),
        )

    def _assigned(self, row: int) -> list[State]:
        """What the step has assigned to a variable before it is read."""
        return [self._out(writer, -1) for writer in writers(self._graph, row)]

    def _roundings(self, row: int, states: list[State]) -> int:
        """How many roundings a node adds to each of its elements."""
        graph, op_type = self._graph, self._graph.op_type[row]
        if op_type in _EXACT or graph.dtype[row] not in RTOL:
            return 0
        size = next((m.a.size for _, found in self._by_node.get(row, ()) for m in found.values()), 0)
        sizes = [state.size for state in states if state.size]
        if not size or not sizes or op_type not in _SUMS:
            return 1
        products = math.sqrt(math.prod(sizes[:2]) / size) if op_type in _PRODUCTS else max(sizes) / size
        return 1 + min(int(products), MAX_TERMS)

    def _out(self, row: int, slot: int) -> State:
        return self._state.get((row, slot)) or self._state.get((row, -1)) or State()

    def _judge(self, row: int, slot: int, measure: Measured, before: State) -> None:
        relative, absolute = error_of(measure)
        own = RTOL.get(common_dtype(measure.a.dtype, measure.b.dtype), 0.0)
        rtol = max(own, before.rtol if own else 0.0)
        limit = noise_limit(rtol, before.depth)
        verdict = _verdict(measure, relative, absolute, limit, noise_ceiling(rtol), before)
        self._judged[(row, slot), measure.a.visit] = Judged((row, slot), measure, verdict, limit, before)
        diverged = before.diverged or verdict == "diverges"
        size = measure.a.size
        if verdict == "same":
            self._state[row, slot] = State(size=size)
            return
        self._state[row, slot] = State(
            relative, absolute, diverged and relative > 0, before.depth, max(rtol, before.rtol), size
        )


def writers(graph: GraphIndex, row: int) -> list[int]:
    """The nodes that write variables before a node runs, as its control inputs tell."""
    names = (text[1:] for text in graph.cell("inputs", row) or [] if text.startswith("^"))
    found = [graph.rows[name] for name in names if name in graph.rows]
    return [row for row in found if graph.op_type[row].startswith(_WRITERS)]


def _verdict(
    measure: Measured, relative: float, absolute: float, limit: float, ceiling: float, before: State
) -> str:
    if _equal(measure):
        return "same"
    if relative <= limit:
        return "noise"
    grown = relative > GROWTH * before.relative and absolute > GROWTH * before.absolute
    if before.diverged:
        return "amplified" if grown else "inherited"
    if limit == 0:  # whole numbers: what rounding moved across a threshold (argmax, comparisons)
        return "noise" if before.relative > 0 else "diverges"
    return "diverges" if grown or relative > ceiling else "noise"


def _equal(measure: Measured) -> bool:
    """Whether nothing that is known differs."""
    metrics = measure.metrics
    if measure.basis == "values":
        return metrics.differing == 0
    zero = (metrics.max_abs, metrics.l2, metrics.kl)
    return (
        measure.basis == "summaries"
        and all(not value > 0 for value in zero)
        and not (metrics.nonfinite_a or metrics.nonfinite_b)
    )


def carried_on(judged: list[Judged], before: State) -> State:
    """What a step hands to the variables of the next."""
    after = [entry.before for entry in judged]
    return State(
        depth=before.depth + max((state.depth for state in after), default=0),
        rtol=max((state.rtol for state in after), default=before.rtol),
    )
