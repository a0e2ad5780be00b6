"""The graphs that tfdbg2 recorded op by op: no attributes, dtypes or control inputs are in its files."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from tensortap.core.names import UnusedNames, short_function_name
from tensortap.core.records import Frame, Function, Graph, Node
from tensortap.tfproto.function_calls import Role
from tensortap.tfproto.proto_classes import Message

from ..tf_formats.graphdef import MOST_OUTPUTS, GraphLimits
from .v2_records import DebuggedGraph, FileSet

_ROLES: dict[str, Role] = {
    "while_cond": "cond",
    "while_body": "body",
    "cond_true": "then",
    "cond_false": "else",
}


@dataclass(frozen=True)
class RecordedGraph:
    """A graph for the dump; `names` has the node of (graph id, op name)."""

    graph: Graph
    names: dict[tuple[str, str], str]


def recorded_graphs(files: FileSet) -> dict[str, RecordedGraph]:
    """Id of an outermost graph -> it and all graphs inside it.

    Raises:
        RefusedError: its nodes have more outputs than its files have room to say, or too long names.
    """
    below: dict[str, list[DebuggedGraph]] = defaultdict(list)
    for graph in files.graphs.values():
        below[files.root(graph.id)].append(graph)
    limits = GraphLimits(sum(op.ByteSize() for graph in files.graphs.values() for op in graph.ops))
    return {
        root: _recorded(files, sorted(members, key=lambda graph: graph.id != root), limits)
        for root, members in below.items()
        if any(graph.ops for graph in members)
    }


def _recorded(files: FileSet, members: list[DebuggedGraph], limits: GraphLimits) -> RecordedGraph:
    """One graph; its members are the outermost one, then those inside."""
    functions, names, node_names = _Titles(), {}, UnusedNames()
    for graph in members:
        title = functions.of(graph)
        limits.add_names(len(title) * len(graph.ops))
        for op in graph.ops:
            name = f"{title}/{op.op_name}" if op.op_name in node_names else op.op_name
            names[graph.id, op.op_name] = node_names.take(name)
    stacks: dict[tuple[Frame, ...], int] = {}
    nodes = [
        _node(files, op, graph.id, functions.of(graph), names, stacks, limits)
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
    """The role of a graph in its caller, from TensorFlow's names of control flow."""
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
    limits: GraphLimits,
) -> Node:
    stack = files.stack(op.code_location)
    count = max(0, min(op.num_outputs, MOST_OUTPUTS))
    limits.add(1 + count)
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
        output_dtypes=("unknown",) * count,
        output_shapes=(None,) * count,
    )
