"""A graph as differences flow through it; built once and used for every step."""

from __future__ import annotations

from tensortap.index.graph.edges import RETURNED
from tensortap.index.graph.graph_index import GraphIndex

from ...model_graph.call_dataflow import dataflow_of
from ...model_graph.op_types import ADDITIVE_REDUCTIONS, LOOPS, MATRIX_PRODUCTS, VARIABLE_READS, ops
from ...model_graph.roles import roles_of
from ..metrics.distances import RTOL

_SUMS = ADDITIVE_REDUCTIONS | ops("Prod Softmax LogSoftmax")
# They do not round.
_EXACT = ops("_Arg Reshape Transpose Identity Squeeze ExpandDims StopGradient Shape")
NO_ROUNDING, ONE_ROUNDING, SUM, PRODUCT = range(4)
Source = tuple[int, int]  # (row of a node, output slot)


class FlowGraph:
    """Inputs of each node, and how it rounds.

    Attributes:
        graph: the graph. rows: in data flow order. inputs: row -> its data inputs.
        returned: row of a node that calls functions -> what these return.
        callers: function that a loop calls -> row of the loop.
        loops: row of each outermost loop -> rows of the nodes it runs, in data flow order.
        loop_arguments: argument of a loop's function -> its source from the second visit on.
        variables: row of each node that reads one -> rows of those that write one before it.
        side_by_side: rows of nodes that hand each input on by itself, as the output of its number.
        rounding: row -> `NO_ROUNDING`, `ONE_ROUNDING`, those of a `SUM` or a `PRODUCT`.
    """

    def __init__(self, graph: GraphIndex) -> None:
        self.graph = graph
        self.rows: list[int] = sorted(range(len(graph)), key=graph.order.tolist().__getitem__)
        self.inputs: list[list[Source]] = []
        self.returned: dict[int, list[Source]] = {}
        roles = roles_of(graph)
        for row in range(len(graph)):
            taken = roles.inputs(row)
            self.inputs.append([(source, slot) for source, slot, _ in taken])
            returned = [(source, slot) for source, slot, position in taken if position == RETURNED]
            if returned:
                self.returned[row] = returned
        self.callers = self._loop_callers()
        self.loops = self._loops()
        arguments = (row for row in range(len(graph)) if graph.op_type[row] == "_Arg")
        self.loop_arguments = {row: sources for row in arguments if (sources := self._loop_argument(row))}
        self.side_by_side = {
            row
            for row in range(len(graph))
            if graph.op_type[row] == "IdentityN" and len(self.inputs[row]) == len(graph.slot_texts(row))
        }
        op_types, dtypes = graph.op_type.to_list(), graph.dtype.to_list()
        self.rounding = [_rounding(op, dtype) for op, dtype in zip(op_types, dtypes, strict=True)]
        reads = [row for row, op_type in enumerate(op_types) if op_type in VARIABLE_READS]
        self.variables = {row: writers(graph, row) for row in reads}

    def _loops(self) -> dict[int, list[int]]:
        passing, function = dataflow_of(self.graph), self.graph.function
        outermost: dict[str, int] = {}  # function -> the loop that runs it, -1 without one
        found: dict[int, list[int]] = {}
        for row in self.rows:
            name = function[row]
            if name not in outermost:
                loop = passing.outermost(row)
                outermost[name] = -1 if loop == row else loop
            if outermost[name] >= 0:
                found.setdefault(outermost[name], []).append(row)
        return found

    def _loop_argument(self, row: int) -> list[Source]:
        """The body's result of the previous iteration; the initial value at the first iteration."""
        passing = dataflow_of(self.graph)
        previous = [source for source in passing.previous_iteration_value(row) if source[0] != row]
        return previous if passing.replaced(row) else self.inputs[row] + previous if previous else []

    def _loop_callers(self) -> dict[str, int]:
        graph = self.graph
        found = {name: graph.rows.get(info.caller or "", -1) for name, info in graph.functions.items()}
        return {name: row for name, row in found.items() if row >= 0 and graph.op_type[row] in LOOPS}


def _rounding(op_type: str, dtype: str) -> int:
    if op_type in _EXACT or dtype not in RTOL:
        return NO_ROUNDING
    return PRODUCT if op_type in MATRIX_PRODUCTS else SUM if op_type in _SUMS else ONE_ROUNDING


def writers(graph: GraphIndex, row: int) -> list[int]:
    """The nodes that write variables before a node runs, according to its control inputs."""
    names = (text[1:] for text in graph.cell("inputs", row) or [] if text.startswith("^"))
    found = [graph.rows[name] for name in names if name in graph.rows]
    return list(filter(roles_of(graph).is_update, found))
