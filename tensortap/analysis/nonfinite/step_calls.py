"""The calls of a step: their order, and the source of each argument."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from tensortap.core.names import EAGER
from tensortap.index.run_index import RunIndex

from ..model_graph.call_dataflow import dataflow_of
from ..model_graph.roles import Slot, first_input
from ..run_view.step_tensors import StepTensors
from .upstream import computes_nothing

_MAX_DEPTH = 20  # calls between a read and the variable's handle
_MAX_REFERENCES = 500  # references that are followed from one argument


@dataclass(frozen=True, slots=True)
class CallOutput:
    """A tensor that a call returned or an eager op produced. `visit`: number of the call of that graph in the
    step; None for any."""

    graph: str
    slot: Slot
    visit: int | None


@dataclass(frozen=True, slots=True)
class EagerOp:
    """An op between calls, whose values were not captured. `place`: file and line, or empty."""

    op_type: str
    place: str


@dataclass(frozen=True, slots=True)
class CallArgument:
    """Source of an argument of a call.

    Attributes:
        results: tensors of captured calls, or of eager scopes, from which it is computed.
        ops: the ops between, that compute something, in the order they ran.
        functions: names of functions that it comes from and that were not captured.
        before: part of it was there before the first call of the step.
        python: Python or NumPy values were used after that.
        unknown: whether its source is unknown.
    """

    results: tuple[CallOutput, ...] = ()
    ops: tuple[EagerOp, ...] = ()
    functions: tuple[str, ...] = ()
    before: bool = False
    python: bool = False
    unknown: bool = False


class StepCalls:
    """The calls of a step of one worker, as its event `calls` (FORMAT.md) notes them, if there is one."""

    def __init__(self, run: RunIndex, step: int, worker: int) -> None:
        self._run, self._step, self.worker = run, step, worker
        self._facts = run.events.calls(step, run.catalog.workers[worker])
        self._tensors: dict[str, StepTensors] = {}
        self._known_begins: dict[str, dict[int, float]] = {}

    @property
    def has_call_links(self) -> bool:
        """Whether the run records which values the calls passed to each other."""
        return bool(self._calls)

    def tensors(self, graph: str) -> StepTensors:
        """Captured tensors of a graph."""
        if graph not in self._tensors:
            self._tensors[graph] = StepTensors(self._run, self._run.graph(graph), self._step, self.worker)
        return self._tensors[graph]

    @cached_property
    def graphs(self) -> list[str]:
        """Ids of the graphs with captured tensors."""
        catalog = self._run.catalog
        code = catalog.steps.code(self._step)
        rows = np.zeros(0, np.int64) if code is None else catalog.rows_of_step(code)
        rows = rows[catalog.column("worker", rows) == self.worker]
        codes = catalog.tensors.columns(len(catalog.tensors))[0][catalog.column("tensor", rows)]
        return [catalog.tensors.graphs[code] or "-" for code in dict.fromkeys(codes.tolist())]

    @cached_property
    def _calls(self) -> list[Mapping[str, Any]]:
        return _objects(self._facts.get("calls"))

    @cached_property
    def _ops(self) -> list[Mapping[str, Any]]:
        return _objects(self._facts.get("ops"))

    @cached_property
    def eager_graph(self) -> str | None:
        """The graph of the step's eager scopes."""
        return next((each for each in self.graphs if self._run.graph(each).name == EAGER), None)

    def _number(self, graph: str, visit: int) -> int | None:
        """The number of a graph's call in the step, for a visit."""
        numbers = [number for number, call in enumerate(self._calls) if call.get("graph") == graph]
        return numbers[visit] if visit < len(numbers) else None

    # Order

    def call_of(self, graph: str, slot: Slot, visit: int) -> int:
        """Which call of its graph a tensor was computed in, at a visit."""
        calls = self._count(graph)
        if calls <= 1:
            return 0
        rows = self.tensors(graph).captured.get(slot)
        visits = 1 if rows is None else len(rows)
        return int(visit * calls // max(visits, calls))

    def _count(self, graph: str) -> int:
        """How often a graph was called."""
        noted: int = sum(call.get("graph") == graph for call in self._calls)
        if noted or graph == self.eager_graph:
            return max(noted, 1)
        tensors = self.tensors(graph)
        entries = (slot for slot in tensors.captured if is_graph_input(tensors, slot))
        return max((len(tensors.captured[slot]) for slot in entries), default=1)

    def order(self, graph: str, slot: Slot, visit: int) -> float:
        """Sort key of tensors by the call that computed them: calls are captured in the order they ran, ops
        of eager scopes when the step ends."""
        if graph == self.eager_graph:
            return self._eager_order.get(slot[0], np.inf)
        return self._begins(graph).get(self.call_of(graph, slot, visit), np.inf)

    def any_before(self, order: float) -> bool:
        """Whether a call was captured that ran before that place in `order`."""
        return any(begin < order for graph in self.graphs for begin in self._begins(graph).values())

    def _begins(self, graph: str) -> dict[int, float]:
        """Call of a graph -> the first row of the catalog that it filled."""
        if graph not in self._known_begins:
            found: dict[int, float] = {}
            eager = graph == self.eager_graph  # captured when the step ended
            for slot, rows in () if eager else self.tensors(graph).captured.items():
                for visit, row in enumerate(rows.tolist()):
                    call = self.call_of(graph, slot, visit)
                    found[call] = min(found.get(call, np.inf), row)
            self._known_begins[graph] = found
        return self._known_begins[graph]

    @cached_property
    def _eager_order(self) -> dict[int, float]:
        """Row of each node of the eager graph that a call depends on -> just before the first such call."""
        if self.eager_graph is None:
            return {}
        roles, found, count = self.tensors(self.eager_graph).roles, dict[int, float](), dict[str, int]()
        for call in self._calls:
            graph = str(call.get("graph"))
            count[graph] = count.get(graph, -1) + 1
            begin = self._begins(graph).get(count[graph], np.inf) if graph in self.graphs else np.inf
            texts = [text for text in _texts(call.get("from")).values() if text.startswith("eager:")]
            waiting = [result.slot[0] for text in texts if (result := self._result(text)) is not None]
            while waiting:
                row = waiting.pop()
                if row not in found:
                    found[row] = begin - 0.5
                    waiting += [source for source, _, _ in roles.inputs(row)]
        return found

    # Sources of arguments

    def argument(self, graph: str, slot: Slot, visit: int) -> CallArgument:
        """Source of an argument of a called function, at a visit."""
        place = dataflow_of(self._run.graph(graph)).places.get(slot[0])
        number = self._number(graph, visit)
        if number is None or place is None:
            return CallArgument(unknown=True)
        text = _texts(self._calls[number].get("from")).get(str(place))
        return CallArgument(before=True) if text is None else self._argument_of([text])

    def variable(self, graph: str, row: int, visit: int) -> int | None:
        """The number of the variable that a node reads or changes, at a visit; None if unknown."""
        index = self.tensors(graph).graph
        roles, dataflow = self.tensors(graph).roles, dataflow_of(index)
        for _ in range(_MAX_DEPTH):
            if index.op_type[row] == "_Arg" and dataflow.is_root(row):
                number = self._number(graph, self.call_of(graph, (row, 0), visit))
                numbers = None if number is None else self._calls[number].get("variables")
                found = numbers.get(str(dataflow.places.get(row))) if isinstance(numbers, dict) else None
                return found if isinstance(found, int) else None
            passed = next(dataflow.passed(row, None), None) if index.op_type[row] == "_Arg" else None
            before, row = row, passed[0][0] if passed is not None else first_input(roles, row)
            if row == before:
                break
        return None

    def eager_inputs(self, node: str) -> CallArgument:
        """Inputs of a node of the eager graph that calls returned."""
        eager = self._facts.get("eager")
        texts = _texts(eager.get(node)) if isinstance(eager, dict) else {}
        return self._argument_of([text for text in texts.values() if text != "python"])

    def _argument_of(self, texts: list[str]) -> CallArgument:
        results, functions = dict[CallOutput, None](), dict[str, None]()
        before = python = unknown = False
        numbers, waiting = set[int](), list(texts)
        seen = set[str]()
        while waiting and len(seen) < _MAX_REFERENCES:
            text = waiting.pop()
            if text in seen:
                continue
            seen.add(text)
            kind, number, _ = [*text.split(":"), "", ""][:3]
            result = self._result(text)
            if result is not None:
                results[result] = None
            elif kind == "call" and number.isdecimal() and int(number) < len(self._calls):
                functions[str(self._calls[int(number)].get("name"))] = None
            elif kind == "op" and number.isdecimal() and int(number) < len(self._ops):
                numbers.add(int(number))
                further = _texts(self._ops[int(number)].get("from"))
                waiting += further.values()
                before = before or not further
            else:
                python, unknown = python or kind == "python", unknown or kind != "python"
        ops = (self._ops[number] for number in sorted(numbers))
        named = [EagerOp(str(op.get("op")), str(op.get("at"))) for op in ops]
        computing = tuple(op for op in named if not computes_nothing(op.op_type))
        return CallArgument(tuple(results), computing, tuple(functions), before, python, unknown)

    def _result(self, text: str) -> CallOutput | None:
        """The captured tensor that a reference denotes."""
        kind, _, rest = text.partition(":")
        if kind == "eager" and self.eager_graph is not None:
            node, _, at = rest.rpartition(":")
            row = self._run.graph(self.eager_graph).rows.get(node)
            found = row is not None and at.isdecimal()
            return CallOutput(self.eager_graph, (row or 0, int(at)), None) if found else None
        number, _, output = rest.partition(":")
        if kind != "call" or not (number.isdecimal() and output.isdecimal()):
            return None
        if int(number) >= len(self._calls):
            return None
        graph = str(self._calls[int(number)].get("graph"))
        if graph not in self.graphs:
            return None
        slot = next(iter(root_outputs(self, graph)[int(output) : int(output) + 1]), (-1, 0))
        visit = sum(call.get("graph") == graph for call in self._calls[: int(number)])
        return None if slot[0] < 0 else CallOutput(graph, slot, visit)

    def internal_outputs(self, graph: str) -> set[Slot]:
        """Outputs of a graph that only backward functions take: the program does not see them."""
        takers: dict[Slot, set[bool]] = {}
        for call in self._calls:
            for text in _texts(call.get("from")).values():
                for result in self._argument_of([text]).results:
                    if result.graph == graph:
                        takers.setdefault(result.slot, set()).add(_is_backward(str(call.get("name"))))
        seen = {root_outputs(self, graph)[0]} if root_outputs(self, graph) else set()
        return {slot for slot, backward in takers.items() if backward == {True}} - seen

    def is_backward(self, graph: str) -> bool:
        """Whether a graph is the backward function of another one, created by a tape."""
        return _is_backward(self._run.graph(graph).name)


def root_outputs(calls: StepCalls, graph: str) -> list[Slot]:
    """Results of the function that the program calls, in order."""
    index = calls.tensors(graph).graph
    roots = [name for name, info in index.functions.items() if info.role == "root"]
    return dataflow_of(index).outputs.get(roots[0], []) if len(roots) == 1 else []


def is_graph_input(tensors: StepTensors, slot: Slot) -> bool:
    """Whether a tensor is an input of its graph: an argument of a function that the program calls, or fed."""
    op_type = tensors.graph.op_type[slot[0]]
    if op_type == "_Arg":
        return dataflow_of(tensors.graph).is_root(slot[0])
    return op_type in ("Placeholder", "PlaceholderWithDefault")


def _is_backward(name: str) -> bool:
    return name.endswith("_backward")


def _objects(found: Any) -> list[Mapping[str, Any]]:
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []


def _texts(found: Any) -> dict[str, str]:
    return {str(key): str(text) for key, text in found.items()} if isinstance(found, dict) else {}
