"""The non-finite tensors of a whole step, joined across its calls.

A call is that of a function, a run of a session, or the ops of an eager scope. The sources of an argument are
known if the run recorded them (`step_calls.py`); elsewhere an earlier tensor of equal numbers is taken for
it.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from tensortap.core.text import counted
from tensortap.index.run_index import RunIndex
from tensortap.index.snapshot import Snapshot

from ..model_graph.op_types import DATASET_READS
from ..model_graph.roles import Slot, updates_of
from ..run_view.step_tensors import StepTensors
from .explanation import Explanation, be_verb, elements, explain_input_data
from .nonfinite_flow import FlowTensor, NonfiniteFlow, numbers
from .operand import Operand, of_snapshot
from .patterns.pattern_table import explain
from .reach import Impact, Reachability, Reached
from .step_calls import CallArgument, CallOutput, StepCalls, is_graph_input

Tensor = tuple[str, Slot]  # id of a graph, and a tensor in it
NOT_CAPTURED = "not captured"  # the pattern of what no captured tensor explains
_NAMED = 4  # ops or functions that a sentence names
_EAGER = "Run the step inside 'with tap.eager():' to capture these ops, or move them into a tf.function."


@dataclass(frozen=True, slots=True)
class CallArgumentOrigin:
    """Why an argument is not finite, where no captured tensor propagated that to it.

    Attributes:
        verdict: `data`, `suspected`, or `origin` if the numbers prove which op made it.
        explanation: a sentence, and the next step. missing: what was not captured.
        inputs: the captured tensors from which it was computed. made_by: the op that the numbers prove made
        it.
    """

    verdict: str
    explanation: Explanation
    missing: tuple[str, ...] = ()
    inputs: tuple[Operand, ...] = ()
    made_by: str = ""


class StepFlow:
    """All non-finite tensors of a step of one worker.

    Attributes:
        calls: the calls. flows: id of a graph -> its non-finite tensors, in the order of `calls`.
        propagated_from: tensor that a call took -> the non-finite one of another call that it is.
        entries: why other arguments are not finite.
    """

    def __init__(self, run: RunIndex, step: int, worker: int, graphs: Iterable[str]) -> None:
        self.run, self.step = run, step
        self.calls = StepCalls(run, step, worker)
        flows = {graph: NonfiniteFlow(self.calls.tensors(graph)) for graph in graphs}
        self.flows = dict(sorted(flows.items(), key=lambda item: self._begin(*item)))
        self.propagated_from: dict[Tensor, Tensor] = {}
        self.entries: dict[Tensor, CallArgumentOrigin] = {}
        self._by_numbers: dict[tuple[object, ...], list[tuple[float, Tensor]]] | None = None
        self._join()
        self.takers: dict[Tensor, list[Tensor]] = {}
        for taker, source in self.propagated_from.items():
            self.takers.setdefault(source, []).append(taker)

    def _begin(self, graph: str, flow: NonfiniteFlow) -> float:
        return min((self.order(graph, bad) for bad in flow.bad.values()), default=math.inf)

    def order(self, graph: str, bad: FlowTensor) -> float:
        """Sort key of non-finite tensors by the call that computed them."""
        return self.calls.order(graph, bad.slot, bad.visit)

    def is_loss(self, tensor: Tensor) -> bool:
        """Whether a tensor is the scalar that its graph minimizes. If a function has a backward pass of its
        own, its result may be an argument of the loss."""
        graph, slot = tensor
        return slot[0] == self.flows[graph].tensors.roles.loss and not self.calls.is_backward(graph)

    def is_gradient(self, tensor: Tensor) -> bool:
        """Whether a tensor is the gradient of a variable."""
        flow, slot = self.flows[tensor[0]], tensor[1]
        return flow.tensors.roles.kind.get(slot[0]) == "gradient" or slot in flow.replaced

    def is_weight(self, tensor: Tensor) -> bool:
        """Whether a tensor is read from a variable."""
        return self.flows[tensor[0]].tensors.roles.kind.get(tensor[1][0]) == "weight"

    def saved_tensor(self, graph: str, tensor: str, visit: int) -> CallOutput | None:
        """The tensor of another call that an argument of a backward function is: a gradient, or a value that
        the forward pass saved. None for other tensors, or if it was not captured there."""
        tensors = self.calls.tensors(graph)
        node, _, output = tensor.rpartition(":")
        slot = tensors.graph.rows.get(node, -1), int(output) if output.isdecimal() else 0
        argument = slot in tensors.captured and is_graph_input(tensors, slot)
        if not argument or not self.calls.is_backward(graph):
            return None
        source = self.calls.argument(graph, slot, self.calls.call_of(graph, slot, visit))
        if len(source.results) != 1 or source.ops or source.functions:
            return None
        made, result = self.calls.tensors(source.results[0].graph), source.results[0]
        if result.slot not in made.captured:
            return None
        here, there = tensors.snapshot(slot, visit), made.snapshot(result.slot, result.visit)
        return result if (here.shape, numbers(here)) == (there.shape, numbers(there)) else None

    # Joining

    def _join(self) -> None:
        for graph, flow in self.flows.items():
            eager = graph == self.calls.eager_graph
            for slot, bad in list(flow.bad.items()):
                if eager and bad.verdict != "propagated":
                    self._join_eager(graph, flow, bad)
                elif bad.verdict in ("data", "suspected") and is_graph_input(flow.tensors, slot):
                    self._join_argument(graph, flow, bad)
                elif bad.verdict == "from_variable":
                    self._join_variable(graph, flow, bad)

    def _join_eager(self, graph: str, flow: NonfiniteFlow, bad: FlowTensor) -> None:
        row = bad.slot[0]
        argument = self.calls.eager_inputs(flow.tensors.graph.names[row])
        source = next((each for result in argument.results for each in self._nonfinite_sources(result)), None)
        if source is not None:
            self._propagate(graph, flow, bad, source)
            return
        inputs = self._captured(argument.results)
        if not inputs or len(inputs) < len(argument.results) or flow.tensors.roles.inputs(row):
            return
        out = of_snapshot(flow.tensors.snapshot(bad.slot, bad.visit))
        known = explain(flow.tensors.graph.op_type[row], inputs, out)
        if known is not None:
            self.entries[graph, bad.slot] = CallArgumentOrigin("origin", known, (), tuple(inputs))
            flow.bad[bad.slot] = replace(bad, verdict="origin")

    def _captured(self, results: Iterable[CallOutput]) -> list[Operand]:
        """The numbers of those results that were captured."""
        return [
            of_snapshot(self.calls.tensors(result.graph).snapshot(result.slot, result.visit))
            for result in results
            if result.slot in self.calls.tensors(result.graph).captured
        ]

    def _join_argument(self, graph: str, flow: NonfiniteFlow, bad: FlowTensor) -> None:
        argument = self.calls.argument(graph, bad.slot, bad.visit)
        source = next((each for result in argument.results for each in self._nonfinite_sources(result)), None)
        if source is None and not argument.results and (argument.python or argument.unknown):
            source = self._equal(graph, flow, bad)
        if source is not None:
            self._propagate(graph, flow, bad, source)
            return
        entry = self._entry(graph, flow, bad, argument)
        self.entries[graph, bad.slot] = entry
        flow.bad[bad.slot] = replace(bad, verdict=entry.verdict)

    def _propagate(self, graph: str, flow: NonfiniteFlow, bad: FlowTensor, source: Tensor) -> None:
        flow.bad[bad.slot] = replace(bad, verdict="propagated")
        self.propagated_from[graph, bad.slot] = source

    def _nonfinite_sources(self, result: CallOutput) -> Iterator[Tensor]:
        """The non-finite tensors that a result consists of, or was computed from if it was not captured."""
        flow = self.flows.get(result.graph)
        if flow is None:
            return
        tensors = flow.tensors
        if result.slot in tensors.captured:
            if result.slot in flow.bad and is_bad(tensors.snapshot(result.slot, result.visit)):
                yield result.graph, result.slot
            return
        for source in flow.upstream.tensor(result.slot, result.visit):
            if source.captured and source.bad:
                yield result.graph, source.slot

    def _equal(self, graph: str, flow: NonfiniteFlow, bad: FlowTensor) -> Tensor | None:
        """The last tensor of an earlier call with the same numbers: the program may have propagated it  as a
        NumPy array."""
        if self._by_numbers is None:
            self._by_numbers = {}
            for name, other in self.flows.items():
                for each in other.bad.values():
                    key = numbers(other.tensors.snapshot(each.slot, each.visit))
                    self._by_numbers.setdefault(key, []).append((self.order(name, each), (name, each.slot)))
        found = self._by_numbers.get(numbers(flow.tensors.snapshot(bad.slot, bad.visit)), [])
        before = [pair for pair in found if pair[0] < self.order(graph, bad)]
        return max(before, key=lambda pair: pair[0])[1] if before else None

    def _join_variable(self, graph: str, flow: NonfiniteFlow, bad: FlowTensor) -> None:
        """A variable that a call reads may have the value that an earlier call of the step assigned."""
        begin, row = self.order(graph, bad), bad.slot[0]
        variable = self.calls.variable(graph, row, bad.visit)
        assigned = [
            (self.order(name, each), (name, each.slot))
            for name, other in self.flows.items()
            for each in other.bad.values()
            if self.order(name, each) < begin and self._assigns(name, each, variable)
        ]
        if assigned:
            self._propagate(graph, flow, bad, max(assigned, key=lambda pair: pair[0])[1])
            return
        if variable is not None and self._was_finite(variable, begin):
            path = flow.tensors.roles.variable.get(row) or "variable"
            text = (
                f"The {path} that {flow.tensors.name(bad.slot)} reads was finite in an earlier call "
                "of the step. The assignment in between was not captured."
            )
            entry = CallArgumentOrigin("suspected", Explanation(NOT_CAPTURED, text, _EAGER), (path,))
            self.entries[graph, bad.slot] = entry
            flow.bad[bad.slot] = replace(bad, verdict=entry.verdict)
        elif self._left_finite(flow, row):
            text = (
                f"What step {self.step - 1} assigned to it was finite, so other code changed it before step "
                f"{self.step}: a callback, assign(), set_weights() or load_weights()."
            )
            known = Explanation("changed between steps", text, _OTHER_CODE)
            self.entries[graph, bad.slot] = CallArgumentOrigin("from_variable", known)

    def _left_finite(self, flow: NonfiniteFlow, read: int) -> bool:
        """Whether the step before was captured with all that it assigned to a variable, and that was
        finite."""
        tensors, roles = flow.tensors, flow.tensors.roles
        code = self.run.catalog.steps.code(self.step - 1)
        updates = updates_of(roles, read)
        if code is None or not updates:
            return False
        before = StepTensors(self.run, tensors.graph, self.step - 1, self.calls.worker)
        assigned = [
            (source, slot)
            for update in updates
            for source, slot, position in roles.inputs(update)
            if position > 0
        ]
        captured = bool(assigned) and before.captured.keys() >= set(assigned)
        return captured and not before.bad.keys() & set(assigned)

    def _assigns(self, graph: str, bad: FlowTensor, variable: int | None) -> bool:
        """Whether a tensor is assigned to a variable; to any variable, if the variable is unknown."""
        roles = self.flows[graph].tensors.roles
        updates = [row for row in roles.consumers(*bad.slot) if roles.is_update(row)]
        changed = {self.calls.variable(graph, row, bad.visit) for row in updates}
        return bool(updates) and (variable in changed or not self.calls.has_call_links)

    def _was_finite(self, variable: int, begin: float) -> bool:
        """Whether an earlier call of the step read a variable, and it was finite."""
        for graph in self.calls.graphs:
            tensors = self.calls.tensors(graph)
            for slot, rows in tensors.captured.items():
                if tensors.graph.op_type[slot[0]] != "ReadVariableOp":
                    continue
                for visit in range(len(rows)):
                    before = self.calls.order(graph, slot, visit) < begin
                    if before and self.calls.variable(graph, slot[0], visit) == variable:
                        return not is_bad(tensors.snapshot(slot, visit))
        return False

    # Arguments that no captured tensor explains

    def _entry(
        self, graph: str, flow: NonfiniteFlow, bad: FlowTensor, argument: CallArgument
    ) -> CallArgumentOrigin:
        out = of_snapshot(flow.tensors.snapshot(bad.slot, bad.visit))
        name, called = flow.tensors.name(bad.slot), flow.tensors.graph.name
        count = f"{elements(out.bad)} of {name} {be_verb(out.bad)} not finite"
        if argument.ops or argument.functions or argument.results:
            return self._computed(out, argument, f"an argument of {called}")
        if self.calls.is_backward(graph):
            text = (
                f"{name} is an argument of {called}, a backward function: it is a gradient or a "
                f"result of the forward pass. Its source was not captured. {count}."
            )
            return CallArgumentOrigin("suspected", Explanation(NOT_CAPTURED, text, _WATCH_ALL))
        if argument.python:
            text = f"{count}. The program created {name} from Python or NumPy values during the step."
            return CallArgumentOrigin("data", Explanation("data", text, _PYTHON))
        if argument.before or self._is_first(graph, flow, bad):
            return CallArgumentOrigin("data", explain_input_data(out))
        fed_to = flow.tensors.graph.op_type[bad.slot[0]] != "_Arg"
        between = "runs" if fed_to else "calls"
        text = (
            f"{count}. The program passed it to {called} after other {between} of the step. It came "
            f"from the input data, or from uncaptured code between {between}."
        )
        return CallArgumentOrigin(
            "suspected", Explanation(NOT_CAPTURED, text, _PYTHON if fed_to else f"{_PYTHON} {_EAGER}")
        )

    def _is_first(self, graph: str, flow: NonfiniteFlow, bad: FlowTensor) -> bool:
        """Whether an argument is one of the first call of the step that was captured."""
        if flow.tensors.roles.kind.get(bad.slot[0]) == "input" and len(self.calls.graphs) == 1:
            return True
        return not self.calls.any_before(self.order(graph, bad))

    def _computed(self, out: Operand, argument: CallArgument, what: str) -> CallArgumentOrigin:
        """An argument computed by ops between calls, or by functions without captured tensors."""
        if any(op.op_type in DATASET_READS for op in argument.ops[-1:]):
            return CallArgumentOrigin("data", explain_input_data(out))
        inputs = self._captured(argument.results)
        parts = [f"the function {name}" for name in argument.functions]
        parts += [f"{op.op_type}{f' ({_short(op.place)})' if op.place else ''}" for op in argument.ops]
        named = _listed(parts[-_NAMED:])
        whole = len(inputs) == len(argument.results) and not argument.functions
        whole = whole and not (argument.before or argument.python or argument.unknown)
        missing = tuple(op.op_type for op in argument.ops) + argument.functions
        if whole and len(argument.ops) == 1:
            known = explain(argument.ops[0].op_type, inputs, out)
            if known is not None:
                text = f"{known.text} {parts[-1]} produced {out.tensor}, {what}, outside functions."
                return CallArgumentOrigin("origin", replace(known, text=text), (), tuple(inputs), parts[-1])
        if not parts:
            inner = _listed([each.tensor for each in inputs]) or "a result"
            text = f"{out.tensor}, {what}, was computed from {inner} by ops that were not captured."
            return CallArgumentOrigin(
                "suspected", Explanation(NOT_CAPTURED, text, _WATCH_ALL), (), tuple(inputs)
            )
        verb = "was" if len(parts) == 1 else "were"
        text = f"{out.tensor}, {what}, comes from {named}, which {verb} not captured."
        if len(parts) > _NAMED:
            text += f" {counted(len(parts) - _NAMED, 'more op')} came before."
        if argument.ops and (argument.before or argument.python):
            text += " Its input may already have been non-finite, so check the data as well."
        fix = _EAGER if argument.ops else _WATCH_ALL
        return CallArgumentOrigin("suspected", Explanation(NOT_CAPTURED, text, fix), missing, tuple(inputs))

    # Impact

    def reached(self) -> dict[Tensor, Reached]:
        """Origin -> its downstream tensors, in its call and in later ones."""
        begins, reaches = dict[str, dict[Slot, int]](), dict[str, Reachability]()
        for graph, flow in self.flows.items():
            flow.internal_outputs = self.calls.internal_outputs(graph)
            found = [
                bad
                for slot, bad in flow.bad.items()
                if bad.verdict != "propagated" or (graph, slot) in self.propagated_from
            ]
            begins[graph] = {bad.slot: number for number, bad in enumerate(found)}
            reaches[graph] = Reachability(flow, found)
        own = {
            (graph, slot): reaches[graph].of(number)
            for graph, places in begins.items()
            for slot, number in places.items()
        }
        return {tensor: self._joined(tensor, own) for tensor in own if tensor not in self.propagated_from}

    def _joined(self, origin: Tensor, own: dict[Tensor, Reached]) -> Reached:
        seen, waiting = {origin}, deque([origin])
        while waiting:
            graph, begin = waiting.popleft()
            for slot in own[graph, begin].slots:
                further = [each for each in self.takers.get((graph, slot), ()) if each not in seen]
                seen.update(further)
                waiting += further
        if len(seen) == 1:
            return own[origin]
        parts = [own[origin], *(own[tensor] for tensor in own if tensor in seen and tensor != origin)]
        ends = [part.ends for part in parts]
        impact = Impact(
            loss=next((end.loss for end in ends if end.loss), None),
            gradients=_distinct(end.gradients for end in ends),
            weights=_distinct(end.weights for end in ends),
            returned=_distinct(end.returned for end in ends),
            healers=list(dict.fromkeys(recovery for end in ends for recovery in end.healers)),
        )
        total = sum(len(part.slots) for part in parts)
        return Reached(own[origin].slots, impact, any(part.open for part in parts), total)


_WATCH_ALL = "Capture every tensor of the step: Watch()."
_OTHER_CODE = "Find what changes the variable between the steps, and check what it writes with np.isfinite."
_PYTHON = "Check the data (np.isfinite(x).all() finds bad samples) and the code that prepares it."


def is_bad(snapshot: Snapshot) -> bool:
    """Whether a snapshot has NaN or infinities."""
    return bool(snapshot.nan or snapshot.pos_inf or snapshot.neg_inf)


def _distinct(names: Iterable[list[str]]) -> list[str]:
    return list(dict.fromkeys(name for each in names for name in each))


def _listed(parts: list[str]) -> str:
    """`a, b and c`."""
    return " and ".join(filter(None, (", ".join(parts[:-1]), *parts[-1:])))


def _short(place: str) -> str:
    """`train.py:17` of a path and line."""
    return place.replace("\\", "/").rpartition("/")[2]
