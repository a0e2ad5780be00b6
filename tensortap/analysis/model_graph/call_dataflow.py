"""Arguments and results of the functions of a graph, and the values that a loop carries between visits."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from functools import cached_property, lru_cache

from tensortap.index.graph.graph_index import GraphIndex

from .op_types import FUNCTION_CALLS
from .roles import GRAPHS, Slot, roles_of

_LOOPS = ("body", "cond")


class CallDataflow:
    """Data flow between the functions of a graph; computed once a graph."""

    def __init__(self, graph: GraphIndex) -> None:
        self.graph = graph

    @cached_property
    def called(self) -> dict[int, list[str]]:
        """Row of each calling node -> the called functions whose results it returns."""
        called: dict[int, list[str]] = {}
        for name, info in self.graph.functions.items():
            row = None if info.caller is None else self.graph.rows.get(info.caller)
            if row is not None and info.role != "cond":
                called.setdefault(row, []).append(name)
        return called | {row: [name] for row, name in self.repeated_calls.items()}

    @cached_property
    def repeated_calls(self) -> dict[int, str]:
        """Row of each further call of a function, after the call that the graph names -> the function."""
        first = {info.caller: name for name, info in self.graph.functions.items() if info.role == "call"}
        found: dict[int, str] = {}
        for row in range(len(self.graph)):
            if self.graph.op_type[row] in FUNCTION_CALLS and self.graph.names[row] not in first:
                name = roles_of(self.graph).attributes(row).get("f", "")
                if name in first.values():
                    found[row] = name
        return found

    @cached_property
    def _calls(self) -> dict[str, list[int]]:
        """The calls of each function that is called several times, in the order of its visits."""
        found: dict[str, list[int]] = {}
        for row, name in self.repeated_calls.items():
            caller = self.graph.rows.get(self.graph.functions[name].caller or "")
            found.setdefault(name, [] if caller is None else [caller]).append(row)
        return {name: sorted(rows) for name, rows in found.items()}

    @cached_property
    def outputs(self) -> dict[str, list[Slot]]:
        """Results of each function, in order; (-1, 0) for results outside the graph."""
        found: dict[str, list[Slot]] = {}
        for name, about in self.graph.about.get("functions", {}).items():
            parts = (str(output).rpartition(":") for output in about["outputs"])
            found[name] = [
                (self.graph.rows.get(node, -1), int(slot) if slot.isdecimal() else 0)
                for node, _, slot in parts
            ]
        return found

    @cached_property
    def places(self) -> dict[int, int]:
        """Row of each argument of a function -> which one it is."""
        found: dict[int, int] = {}
        count: dict[str, int] = {}
        for row in range(len(self.graph)):
            if self.graph.op_type[row] == "_Arg":
                function = self.graph.function[row]
                found[row] = count.get(function, 0)
                count[function] = found[row] + 1
        return found

    def is_root(self, row: int) -> bool:
        """Whether a node is in a function that the program calls, rather than in one that others call."""
        info = self.graph.functions.get(self.graph.function[row])
        return info is None or info.role == "root"

    def in_a_loop(self, function: str) -> bool:
        """Whether a function is the body or the condition of a loop."""
        info = self.graph.functions.get(function)
        return info is not None and info.role in _LOOPS

    def previous_iteration_value(self, row: int) -> list[Slot]:
        """The result of the loop body's previous iteration for an argument of its body or condition; empty
        for arguments of other functions."""
        graph, place = self.graph, self.places.get(row)
        function = graph.functions.get(graph.function[row])
        if place is None or function is None or function.role not in _LOOPS:
            return []
        bodies = (n for n, i in graph.functions.items() if i.role == "body" and i.caller == function.caller)
        return self._returned_by(bodies, place)

    def returned(self, slot: Slot) -> list[Slot]:
        """Tensors that the functions called by a node return as one of its outputs; empty if the graph does
        not contain them."""
        return self._returned_by(self.called.get(slot[0], ()), slot[1])

    def _returned_by(self, functions: Iterable[str], place: int) -> list[Slot]:
        returned = (self.outputs.get(function, []) for function in functions)
        return [outputs[place] for outputs in returned if place < len(outputs) and outputs[place][0] >= 0]

    def passed(self, row: int, visit: int | None) -> Iterator[tuple[Slot, int | None]]:
        """The tensors passed to an argument at a visit (None: at any visit), each with the visit that
        produced it (None: not comparable). They come from the caller, and in a loop also from the previous
        iteration of the body."""
        if not (visit and self.replaced(row)):
            for given in self._passed_by_calls(row, visit):
                yield given, None
        if visit != 0:
            for returned in self.previous_iteration_value(row):
                yield returned, None if visit is None else visit - 1

    def _passed_by_calls(self, row: int, visit: int | None) -> Iterator[Slot]:
        """Tensors that calls of a function pass to an argument; only those of the visit's call, if it is
        known."""
        roles, calls = roles_of(self.graph), self._calls.get(self.graph.function[row], [])
        if not calls:
            yield from ((source, slot) for source, slot, _ in roles.inputs(row))
            return
        once = all(self.is_root(call) for call in calls)
        if once and visit is not None and visit < len(calls):
            calls = [calls[visit]]
        for call in calls:
            place = self.places[row]
            yield from ((source, slot) for source, slot, at in roles.inputs(call) if at == place)

    def replaced(self, row: int) -> bool:
        """Whether an argument of a loop that is entered once per step has the initial value at the first
        visit only."""
        graph = self.graph
        loop = graph.functions.get(graph.function[row])
        if loop is None or loop.role not in _LOOPS or self._repeats(loop.caller):
            return False
        returned = self.previous_iteration_value(row)
        return bool(returned) and all(graph.op_type[source] != "_Arg" for source, _ in returned)

    def _repeats(self, node: str | None) -> bool:
        """Whether a node runs several times per step, according to the graph."""
        row = self.graph.rows.get(node or "")
        return row is not None and self._loops.get(self.graph.function[row]) is not None

    def outermost(self, row: int) -> int:
        """Row of the outermost loop that a node is in; the node itself without one."""
        loop = self._loops.get(self.graph.function[row])
        return row if loop is None or loop < 0 else loop

    @cached_property
    def _loops(self) -> dict[str, int | None]:
        """Function -> row of the outermost loop that runs it; -1 if the graph lacks that row, None outside
        loops. Each function is visited once, however deep the nesting."""
        graph, found = self.graph, dict[str, int | None]()
        for function in graph.functions:
            for name in reversed(self._outwards(function, found)):
                info = graph.functions[name]
                caller = graph.rows.get(info.caller or "", -1)
                own = caller if info.role in _LOOPS else None
                outer = found.get(graph.function[caller]) if caller >= 0 else None
                found[name] = outer if own is None or (outer is not None and outer >= 0) else own
        return found

    def _outwards(self, function: str, known: Container[str]) -> list[str]:
        """A function, its caller, and so on, up to one that is known or already visited."""
        graph, met = self.graph, dict[str, None]()
        while function in graph.functions and function not in known and function not in met:
            met[function] = None
            caller = graph.rows.get(graph.functions[function].caller or "")
            if caller is None:
                break
            function = graph.function[caller]
        return list(met)


@lru_cache(maxsize=GRAPHS)
def dataflow_of(graph: GraphIndex) -> CallDataflow:
    """Return the data flow between the functions of a graph."""
    return CallDataflow(graph)
