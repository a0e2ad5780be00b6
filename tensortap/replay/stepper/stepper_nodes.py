"""Nodes of a call in the order in which a stepper visits them, and where NaN and infinities originate."""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tensortap.core.names import tensor_name
from tensortap.core.records import Graph

from ..protocol import TensorFacts

_CLOSES_A_LOOP = ("NextIteration", "RefNextIteration")


@dataclass(frozen=True, slots=True)
class StepperNode:
    """One node. `inputs` and `outputs` are tensor names; control inputs are not listed."""

    name: str
    op_type: str
    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    layer: str = ""

    @property
    def scope(self) -> str:
        """The `/`-separated name prefix that it is in; empty at the top level."""
        return self.name.rpartition("/")[0]


def stepper_nodes(graph: Graph) -> list[StepperNode]:
    """All nodes of a graph in topological order: each after its inputs, a calling node after the results of
    its function; otherwise as in the dump. Edges that close a loop are ignored."""
    return [_node(graph, row) for row in _order(_sources(graph))]


def _node(graph: Graph, row: int) -> StepperNode:
    node = graph.nodes[row]
    inputs = tuple(_as_tensor(name) for name in node.inputs if not name.startswith("^"))
    outputs = tuple(tensor_name(node.name, slot) for slot in range(len(node.output_dtypes)))
    return StepperNode(node.name, node.op_type, inputs, outputs, node.layer)


def _as_tensor(name: str) -> str:
    node, _, slot = name.rpartition(":")
    return name if node and slot.isascii() and slot.isdigit() else f"{name}:0"


def _sources(graph: Graph) -> list[set[int]]:
    """For each node, the rows of those that come before it."""
    rows = {node.name: row for row, node in enumerate(graph.nodes)}
    found = [{_row(name, rows) for name in node.inputs} for node in graph.nodes]
    for function in graph.functions.values():
        if function.caller in rows:
            found[rows[function.caller]].update(_row(name, rows) for name in function.outputs)
    loops = {row for row, node in enumerate(graph.nodes) if node.op_type in _CLOSES_A_LOOP}
    return [sources - loops - {-1, row} for row, sources in enumerate(found)]


def _row(name: str, rows: Mapping[str, int]) -> int:
    """-1 for an unknown node."""
    if name.startswith("^"):
        return rows.get(name[1:], -1)
    return rows.get(name.rpartition(":")[0] or name, rows.get(name, -1))


def _order(sources: Sequence[set[int]]) -> list[int]:
    waiting = [len(each) for each in sources]
    followers: list[list[int]] = [[] for _ in sources]
    for row, each in enumerate(sources):
        for source in each:
            followers[source].append(row)
    ready = [row for row, count in enumerate(waiting) if not count]
    order: list[int] = []
    placed = bytearray(len(sources))
    stuck = iter(range(len(sources)))
    while len(order) < len(sources):
        if not ready:  # a cycle: cut at its first node
            heapq.heappush(ready, next(row for row in stuck if not placed[row]))
        row = heapq.heappop(ready)
        if placed[row]:
            continue
        placed[row] = 1
        order.append(row)
        for follower in followers[row]:
            waiting[follower] -= 1
            if not waiting[follower]:
                heapq.heappush(ready, follower)
    return order


_CALLS = ("While", "If", "Case", "PartitionedCall")  # their outputs are computed in their functions


def nonfinite_origins(nodes: Sequence[StepperNode], facts: Mapping[str, TensorFacts]) -> list[str]:
    """Names of the nodes that output NaN without NaN inputs, or infinities from finite inputs.

    A constant is expected as it is: an infinity that a mask holds is propagated until it becomes NaN.
    Non-finite arguments of the call count if nothing originates before them.

    Args:
        nodes: in topological order.
    """
    found: list[str] = []
    for node in nodes:
        bad = [each for each in (facts.get(name) for name in node.outputs) if each and each.nan + each.inf]
        if not bad or _passes_on(node):
            continue
        inputs = [facts.get(name) for name in node.inputs]
        known = [each for each in inputs if each is not None]
        if inputs and len(known) == len(inputs):
            is_origin = any(_is_origin(each, known) for each in bad)
        else:  # an argument, a variable, a list of tensors: they contain their inputs
            is_origin = not found
        if is_origin:
            found.append(node.name)
    return found


def _passes_on(node: StepperNode) -> bool:
    """Constants, calls, and the arguments of called functions, which have an input here."""
    argument = node.op_type == "_Arg" and bool(node.inputs)
    return argument or node.op_type == "Const" or node.op_type.endswith(_CALLS)


def _is_origin(output: TensorFacts, inputs: Sequence[TensorFacts]) -> bool:
    """Whether no input is to blame. In a loop, later visits do not cause earlier ones."""
    before = [each for each in inputs if 0 <= each.bad_visit <= output.bad_visit]
    if output.nan:
        return not any(each.nan for each in before)
    return not before
