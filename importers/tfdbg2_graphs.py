"""The graphs that tfdbg2 recorded op by op: no attributes, dtypes or control inputs are in its files."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from tensortap.dump import Frame, Function, Graph, Node, Role, UnusedNames, short_function_name

from .messages import Message
from .tfdbg2_records import DebuggedGraph, FileSet

_ROLES: dict[str, Role] = {
    "while_cond": "cond",
    "while_body": "body",
    "cond_true": "then",
    "cond_false": "else",
}


@dataclass(frozen=True)
class RecordedGraph:
    """A graph for the dump; `names` tells the node of (graph id, op name)."""

    graph: Graph
    names: dict[tuple[str, str], str]


def recorded_graphs(files: FileSet) -> dict[str, RecordedGraph]:
    """Id of an outermost graph -> it and all graphs inside of it."""
    below: dict[str, list[DebuggedGraph]] = defaultdict(list)
    for graph in files.graphs.values():
        below[files.root(graph.id)].append(graph)
    return {
        root: _recorded(files, sorted(members, key=lambda graph: graph.id != root))
        for root, members in below.items()
        if any(graph.ops for graph in members)
    }


def _recorded(files: FileSet, members: list[DebuggedGraph]) -> RecordedGraph:
    """One graph; its members are the outermost one, then those inside."""
    functions, names, node_names = _Titles(), {}, UnusedNames()
    for graph in members:
        title = functions.of(graph)
        for op in graph.ops:
            name = f"{title}/{op.op_name}" if op.op_name in node_names else op.op_name
            names[graph.id, op.op_name] = node_names.take(name)
    stacks: dict[tuple[Frame, ...], int] = {}
    nodes = [
        _node(files, op, graph.id, functions.of(graph), names, stacks)
        for graph in members
        for op in graph.ops
    ]
    records = {
        functions.of(graph): Function(functions.of(files.graphs[graph.outer]), None, _role(graph.name))
        if number
        else Function()
        for number, graph in enumerate(members)
    }
    named = {file for stack in stacks for file, _, _ in stack}
    sources = {path: text for path, text in files.sources.items() if path in named}
    title = functions.of(members[0])
    return RecordedGraph(Graph(title, nodes, records, list(stacks), sources), names)


def _role(name: str) -> Role:
    """What a graph is to the one around it, as TensorFlow's control flow names it."""
    return next((role for start, role in _ROLES.items() if name.startswith(start)), "call")


class _Titles:
    """A unique short name for each traced function."""

    def __init__(self) -> None:
        self._names = UnusedNames()
        self._by_id: dict[str, str] = {}

    def of(self, graph: DebuggedGraph) -> str:
        if graph.id not in self._by_id:
            self._by_id[graph.id] = self._names.take(short_function_name(graph.name))
        return self._by_id[graph.id]


def _node(
    files: FileSet,
    op: Message,
    graph_id: str,
    function: str,
    names: dict[tuple[str, str], str],
    stacks: dict[tuple[Frame, ...], int],
) -> Node:
    stack = files.stack(op.code_location)
    inputs = []
    for text in op.input_names:
        node, _, slot = text.rpartition(":")
        inputs.append(f"{names.get((graph_id, node), node)}:{slot}" if node else text)
    return Node(
        name=names[graph_id, op.op_name],
        op_type=op.op_type,
        inputs=inputs,
        function=function,
        device=op.device_name,
        stack=stacks.setdefault(stack, len(stacks)) if stack else -1,
        output_dtypes=("unknown",) * max(0, min(op.num_outputs, 10_000)),
        output_shapes=(None,) * max(0, min(op.num_outputs, 10_000)),
    )
