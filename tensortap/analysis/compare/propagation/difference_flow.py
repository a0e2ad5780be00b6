"""Differences followed along the data flow: rounding, those that begin at a node, those propagated."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

from ...model_graph.roles import Slot
from ..matching.flow_graph import NO_ROUNDING, ONE_ROUNDING, PRODUCT, FlowGraph
from ..metrics.distances import GROWTH, noise_ceiling, noise_limit
from ..tensor_pairs import PairDistance
from .conditioning import NO_MAGNITUDE, Magnitude, cancellation_factor

# `same`: equal, bit by bit as far as is known; `noise`: rounding explains it; `diverges`: inputs are equal up
# to noise, the output is not; `inherited`: its inputs differed already; `amplified`: they did, and it differs
# ten times more than they.
DIFFERENCE_VERDICTS = ("diverges", "amplified", "inherited", "noise", "same")
MAX_TERMS = 256  # of a sum that are rounded one after the other; kernels add longer ones in blocks


class State(NamedTuple):
    """Difference at the output of a node: difference as a part of the scale, absolute difference, whether
    something
    diverged on the way, roundings since the tensors stopped being equal, `RTOL` of the coarsest dtype on the
    way, how many elements the tensor has (0: unknown), and how large it and its terms are."""

    relative: float = 0.0
    absolute: float = 0.0
    diverged: bool = False
    depth: int = 0
    rtol: float = 0.0
    size: int = 0
    magnitude: Magnitude = NO_MAGNITUDE


_NOTHING = State()


def _worst(states: list[State]) -> State:
    relative, absolute, diverged, depth, rtol, size, magnitude = states[0]
    for state in states[1:]:
        relative, absolute = max(relative, state.relative), max(absolute, state.absolute)
        depth, rtol, size = max(depth, state.depth), max(rtol, state.rtol), max(size, state.size)
        diverged, magnitude = diverged or state.diverged, max(magnitude, state.magnitude)
    return State(relative, absolute, diverged, depth, rtol, size, magnitude)


class ClassifiedTensor(NamedTuple):
    """A tensor at a visit. `limit`: the part of its scale that rounding explains; `before`: the difference of
    its inputs; `cancels`: a sum whose terms are so much larger that no digit of it is reliable."""

    slot: Slot
    measured: PairDistance
    verdict: str
    limit: float
    before: State
    cancels: bool = False


class DifferenceFlow:
    """The verdicts on one graph's tensors at a step, in data flow order, visit after visit.

    Loops: what flows out of a loop's body at one visit flows into it at the next, and what flows out of the
    last to what is behind the loop.

    Args:
        carried: differences from earlier steps in variables: `depth` and `rtol`.
    """

    def __init__(
        self, graph: FlowGraph, found: dict[Slot, list[PairDistance]], carried: State | None = None
    ) -> None:
        self._flow = graph
        self._by_node: dict[int, list[tuple[int, dict[int, PairDistance]]]] = {}
        for (row, slot), measures in found.items():
            self._by_node.setdefault(row, []).append((slot, {m.visit: m for m in measures}))
        self._state: dict[Slot, State] = {}
        self._carried = carried or _NOTHING
        self._classified: dict[tuple[Slot, int], ClassifiedTensor] = {}
        in_loops = {row for rows in graph.loops.values() for row in rows}
        outside = [row for row in graph.rows if row not in in_loops]
        self._follow(outside)
        function, repeated = graph.graph.function, self._repeated(outside)
        inside = [row for row in outside if function[row] in repeated]
        visits = self._visits(inside)
        for visit in visits[1:]:
            self._walk(inside, visit, again=True)
        if visits[1:]:  # later nodes get the result of the last iteration
            self._walk([row for row in outside if function[row] not in repeated], visits[0])

    def _follow(self, rows: list[int]) -> None:
        """Follows all tensors at their first visit. A loop is followed at its caller with all visits, because
        the caller takes the last result."""
        first = next(iter(self._visits(rows)), 0)
        for row in rows:
            inside = self._flow.loops.get(row, [])
            for visit in self._visits(inside) or [first] if inside else ():
                self._walk(inside, visit, again=visit > first)
            self._walk([row], first)

    def _visits(self, rows: Iterable[int]) -> list[int]:
        found = (m for row in rows for _, measures in self._by_node.get(row, ()) for m in measures)
        return sorted(set(found))

    @property
    def classified(self) -> list[ClassifiedTensor]:
        """The verdicts."""
        return list(self._classified.values())

    def _repeated(self, rows: Iterable[int]) -> set[str]:
        """Functions with tensors that have several visits."""
        function = self._flow.graph.function
        return {function[row] for row in rows if any(len(m) > 1 for _, m in self._by_node.get(row, ()))}

    def _walk(self, rows: list[int], visit: int, *, again: bool = False) -> None:
        for row in rows:
            before = self._before(row, again)
            self._state[row, -1] = before  # of slots that were not captured
            for slot, found in self._by_node.get(row, ()):
                if visit in found:
                    given = before if row not in self._flow.side_by_side else self._of_slot(row, slot)
                    self._classify(row, slot, found[visit], given)

    def _of_slot(self, row: int, slot: int) -> State:
        """The inputs that a forwarding node uses for one of its outputs."""
        return self._state_of(self._flow.inputs[row][slot])

    def _state_of(self, source: Slot) -> State:
        return self._state.get(source) or self._state.get((source[0], -1)) or _NOTHING

    def _before(self, row: int, again: bool) -> State:
        taken = self._flow.inputs[row]
        if again:
            taken = self._flow.loop_arguments.get(row, taken)
        if not taken and again:  # an argument of a loop's body, about which the graph has no more
            caller = self._flow.callers.get(self._flow.graph.function[row], row)
            taken = self._flow.returned.get(caller, [])
        states = [self._state_of(source) for source in taken]
        if row in self._flow.variables:
            writers = self._flow.variables[row]  # values assigned earlier in the step
            states += [self._carried, *(self._state_of((writer, -1)) for writer in writers)]
        if not states:
            return _NOTHING
        before = states[0] if len(states) == 1 else _worst(states)
        roundings = self._roundings(row, states)
        if not roundings:
            return before
        relative, absolute, diverged, depth, rtol, size, magnitude = before  # `_replace` takes far longer
        return State(relative, absolute, diverged, depth + roundings, rtol, size, magnitude)

    def _roundings(self, row: int, states: list[State]) -> int:
        """How many roundings a node adds to each of its elements."""
        kind = self._flow.rounding[row]
        if kind in (NO_ROUNDING, ONE_ROUNDING):
            return kind
        size = next((m.size for _, found in self._by_node.get(row, ()) for m in found.values()), 0)
        sizes = [state.size for state in states if state.size]
        if not size or not sizes:
            return 1
        products = math.sqrt(math.prod(sizes[:2]) / size) if kind == PRODUCT else max(sizes) / size
        return 1 + min(int(products), MAX_TERMS)

    def _classify(self, row: int, slot: int, measure: PairDistance, before: State) -> None:
        rtol = max(measure.rtol, before.rtol if measure.rtol else 0.0)
        limit = noise_limit(rtol, before.depth)
        magnitude, factor = self._magnitude(row, slot, measure, limit)
        limit *= factor
        verdict = _verdict(measure, limit, noise_ceiling(rtol), before)
        self._classified[(row, slot), measure.visit] = ClassifiedTensor(
            (row, slot), measure, verdict, limit, before, factor > 1
        )
        if verdict == "same":
            self._state[row, slot] = State(size=measure.size)
            return
        diverged = before.diverged or verdict == "diverges"
        self._state[row, slot] = State(
            measure.relative,
            measure.absolute,
            diverged and measure.relative > 0,
            before.depth,
            max(rtol, before.rtol),
            measure.size,
            magnitude,
        )

    def _magnitude(self, row: int, slot: int, measure: PairDistance, limit: float) -> tuple[Magnitude, float]:
        """How large a tensor is, and how many times larger its terms are, where that matters."""
        relative = measure.relative
        scale = measure.absolute / relative if 0 < relative < math.inf else 0.0
        if not limit < relative < math.inf:
            return Magnitude(scale, scale), 1.0
        taken = self._flow.inputs[row]
        taken = taken[slot : slot + 1] if row in self._flow.side_by_side else taken
        taken = [*taken, *((writer, -1) for writer in self._flow.variables.get(row, ()))]
        magnitudes = [self._state_of(source).magnitude for source in taken]
        factor = cancellation_factor(self._flow.graph.op_type[row], magnitudes, scale)
        return Magnitude(scale, scale * factor), factor


def _verdict(measure: PairDistance, limit: float, ceiling: float, before: State) -> str:
    relative, absolute = measure.relative, measure.absolute
    if measure.same:
        return "same"
    if relative <= limit and limit > 0:
        return "noise"
    grown = relative > GROWTH * before.relative and absolute > GROWTH * before.absolute
    if before.diverged:
        return "amplified" if grown else "inherited"
    if limit == 0:  # whole numbers: what rounding moved across a threshold (argmax, comparisons)
        return "noise" if before.relative > 0 else "diverges"
    return "diverges" if grown or relative > ceiling else "noise"


def carried_over(classified: list[ClassifiedTensor], before: State) -> State:
    """Differences that a step passes to the next one through variables: no new ones if everything is
    equal."""
    if all(entry.verdict == "same" for entry in classified):
        return before
    after = [entry.before for entry in classified]
    return State(
        depth=before.depth + max((state.depth for state in after), default=0),
        rtol=max((state.rtol for state in after), default=before.rtol),
    )
