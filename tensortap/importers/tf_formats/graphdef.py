"""A GraphDef with its function library as the dump's graph, within limits of its size."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

from tensortap.core.names import short_function_names, unique_node_names
from tensortap.core.records import Function, Graph, Node
from tensortap.tfproto.attributes import attribute_texts
from tensortap.tfproto.function_calls import Role, argument_inputs, callees, recursion
from tensortap.tfproto.proto_classes import Message
from tensortap.tfproto.tensor_proto import data_type_name, proto_shape

from ..errors import RefusedError
from .protos import parse

OPS = Path(__file__).with_name("ops.txt")
MOST_OUTPUTS = 10_000  # of one node

MAX_GRAPH_DEF = 512 << 20  # bytes
MAX_NODES = 2_000_000
_FILES = 500  # nodes that are written as fast as the files of one graph
_KEPT = 256 << 20  # bytes of a GraphDef that goes into the dump
_FREE = 100_000  # nodes and outputs of a source of any size
_NAMES = 1 << 20  # characters that prefixes of such a source may have
_NAMES_PER_BYTE = 64

Shape = tuple[int | None, ...] | None
Names = Mapping[tuple[str, str], str]


@dataclass(frozen=True)
class LibraryFunction:
    """A function of the library, or the GraphDef's own nodes as one, and its first caller."""

    name: str
    definition: Any
    parent: str = ""
    caller: str = ""
    role: Role = "root"

    @property
    def arguments(self) -> tuple[str, ...]:
        """Names of the arguments, in order."""
        return tuple(argument.name for argument in self.definition.signature.input_arg)


def graphs_of(data: bytes, name: str, note: Callable[[str], None]) -> Iterator[Graph]:
    """The graph of a GraphDef. If it only has functions, each becomes a graph.

    Only the first of several graphs carries the GraphDef.

    Raises:
        RefusedError: it is damaged, or beyond a limit.
    """
    if len(data) > MAX_GRAPH_DEF:
        raise RefusedError(f"A GraphDef takes {len(data):,} bytes; the limit is 512 MiB.")
    graph_def = parse("GraphDef", data, "The GraphDef")
    check_not_recursive(graph_def.library)
    library = {function.signature.name: function for function in graph_def.library.function}
    if len(graph_def.node) + sum(len(function.node_def) for function in library.values()) > MAX_NODES:
        raise RefusedError(f"The GraphDef has more than {MAX_NODES:,} nodes.")
    kept, limits = data if len(data) <= _KEPT else None, GraphLimits(len(data))
    if graph_def.node:
        nodes = SimpleNamespace(node_def=graph_def.node, signature=SimpleNamespace(input_arg=()), ret={})
        functions = _closure(LibraryFunction(name, nodes), library)
        left = len(library) - sum(function in library for function in functions)
        if left:
            note(f"{left:,} functions of the library are skipped: no imported node calls them.")
        yield _graph(functions, kept, limits)
    else:
        yield from _library_graphs(library, kept, limits, note)


def check_not_recursive(library: Message) -> None:
    """Raises RefusedError: a function of a FunctionDefLibrary calls itself, directly or through others."""
    circle = recursion(library.function)
    if circle:
        names = [name[:100] for name in (circle if len(circle) <= 6 else [*circle[:3], "…", *circle[-2:]])]
        raise RefusedError(
            f"Its function {circle[0][:100]!r} calls itself ({' -> '.join(names)}).",
            "Graphs with recursive functions are not supported: save the program without recursion.",
        )


def _library_graphs(
    library: Mapping[str, Message], kept: bytes | None, limits: GraphLimits, note: Callable[[str], None]
) -> Iterator[Graph]:
    """A graph for each function that no other calls."""
    called = {callee.function for f in library.values() for node in f.node_def for callee in callees(node)}
    shown: set[str] = set()
    for name in sorted(library.keys() - called):
        functions = _closure(LibraryFunction(name, library[name]), library)
        try:
            graph = _graph(functions, None if shown else kept, limits)
        except RefusedError as error:
            note(f"Skipped: {len(library.keys() - shown):,} functions of the library: {error}")
            return
        yield graph
        shown |= functions.keys()


def _closure(root: LibraryFunction, library: Mapping[str, Message]) -> dict[str, LibraryFunction]:
    """The root and all that it calls, breadth first, each with its first caller."""
    found = {root.name: root}
    waiting = [root.name]
    for parent in waiting:
        for node in found[parent].definition.node_def:
            for callee in callees(node):
                name = callee.function
                if name in library and name not in found:
                    found[name] = LibraryFunction(name, library[name], parent, node.name, callee.role)
                    waiting.append(name)
    return found


def _check_sizes(functions: Mapping[str, LibraryFunction], limits: GraphLimits) -> None:
    """Counts functions, nodes, and the lengths of the names that calls prefix.

    Raises:
        RefusedError: they become too many or too long.
    """
    prefixes: dict[str, int] = {}
    limits.add(_FILES)
    for name, function in functions.items():
        count = len(function.definition.node_def) + len(function.arguments)
        prefixes[name] = prefixes[function.parent] + len(function.caller) + 1 if function.caller else 0
        limits.add(1 + count)
        limits.add_names(prefixes[name] * count)


def _graph(functions: Mapping[str, LibraryFunction], graph_def: bytes | None, limits: GraphLimits) -> Graph:
    _check_sizes(functions, limits)
    names, short = unique_node_names(functions), short_function_names(functions)
    nodes: list[Node] = []
    flat = {name: _FlatNames(function, names, limits) for name, function in functions.items()}
    passed = _passed_arguments(functions, flat, names)
    for name, function in functions.items():
        for argument in function.definition.signature.input_arg:
            unique = names[name, argument.name]
            nodes.append(_argument(argument, unique, short[name], passed.get(unique, ())))
        for node in function.definition.node_def:
            nodes.append(_node(node, names[name, node.name], short[name], flat[name]))
    records = {
        short[name]: Function(
            parent=short.get(function.parent, ""),
            caller=names.get((function.parent, function.caller)),
            role=function.role,
            outputs=tuple(flat[name].tensor(text) for text in function.definition.ret.values()),
        )
        for name, function in functions.items()
    }
    root = short[next(iter(functions))]
    return Graph(root, nodes, records, graph_def=graph_def)


class _FlatNames:
    """A function's references to tensors (`node:argument:index`, `argument`, `node:1`) as `node:slot`."""

    def __init__(self, function: LibraryFunction, names: Names, limits: GraphLimits) -> None:
        self._function, self._names, self._limits = function, names, limits
        self._outputs: dict[str, tuple[OutputArgument, ...]] = {}
        self._nodes = {node.name: node for node in function.definition.node_def}

    def tensor(self, text: str) -> str:
        """The tensor's name in the graph; unknown references are unchanged."""
        if text.startswith("^"):
            return "^" + self._unique(text[1:])
        node, *rest = text.split(":")
        if len(rest) == 2:
            return f"{self._unique(node)}:{self._slot(node, rest[0], rest[1])}"
        return f"{self._unique(node)}:{rest[0] if rest and rest[0].isdigit() else 0}"

    def _unique(self, node: str) -> str:
        return self._names.get((self._function.name, node), node)

    def outputs(self, node: str) -> tuple[OutputArgument, ...]:
        """Outputs of a node of the function; none if its op type is unknown."""
        if node not in self._outputs:
            known = outputs_of(self._nodes[node]) if node in self._nodes else None
            self._outputs[node] = known or ()
            self._limits.add(sum(len(output.dtypes) for output in self._outputs[node]))
        return self._outputs[node]

    def _slot(self, node: str, argument: str, index: str) -> int:
        number = int(index) if index.isascii() and index.isdigit() and len(index) < 9 else 0
        for output in self.outputs(node):
            if output.name == argument:
                return output.slot + number
        return number  # a custom op: right for its first output argument


def _passed_arguments(
    functions: Mapping[str, LibraryFunction], flat: Mapping[str, _FlatNames], names: Names
) -> dict[str, tuple[str, ...]]:
    """Unique name of an inner function's argument -> the tensor its first caller passes."""
    passed: dict[str, tuple[str, ...]] = {}
    for name, function in functions.items():
        for node in function.definition.node_def:
            for callee in callees(node):
                called = functions.get(callee.function)
                if called is None or (called.parent, called.caller) != (name, node.name):
                    continue
                data = [text for text in node.input if not text.startswith("^")]
                for argument, text in zip(called.arguments, argument_inputs(node.op, data), strict=False):
                    passed[names[called.name, argument]] = (flat[name].tensor(text),)
    return passed


def _argument(argument: Message, unique: str, function: str, inputs: Sequence[str]) -> Node:
    dtype = data_type_name(argument.type)
    return Node(unique, "_Arg", inputs, function, output_dtypes=(dtype,), output_shapes=(None,))


def _node(node: Message, unique: str, function: str, flat: _FlatNames) -> Node:
    inputs = [flat.tensor(text) for text in node.input]
    data = [text for text in inputs if not text.startswith("^")]
    dtypes = tuple(dtype for output in flat.outputs(node.name) for dtype in output.dtypes)
    return Node(
        name=unique,
        op_type=node.op,
        inputs=data + sorted(text for text in inputs if text.startswith("^")),
        function=function,
        device=node.device,
        attributes=attribute_texts(node.attr),
        output_dtypes=dtypes,
        output_shapes=_shapes(node, len(dtypes)),
    )


def _shapes(node: Message, count: int) -> tuple[Shape, ...]:
    """Shapes known from the node alone: recorded ones, a placeholder's, a constant's."""
    shapes: list[Shape] = [None] * count
    if "_output_shapes" in node.attr:
        for slot, proto in enumerate(node.attr["_output_shapes"].list.shape[:count]):
            shapes[slot] = proto_shape(proto)
    elif count == 1 and node.op in ("Placeholder", "PlaceholderWithDefault") and "shape" in node.attr:
        shapes[0] = proto_shape(node.attr["shape"].shape)
    elif count == 1 and node.op == "Const" and "value" in node.attr:
        shapes[0] = proto_shape(node.attr["value"].tensor.tensor_shape)
    return tuple(shapes)


class GraphLimits:
    """Bounds how large the graphs of one source become, by the bytes that describe them.

    A few bytes say that a node has 10,000 outputs, call a large function from one more place, or nest one
    more call, whose nodes all have the names of the calls in front of theirs. Other nodes take more bytes
    than they have outputs.

    Args:
        length: bytes of the source.
    """

    def __init__(self, length: int) -> None:
        self._outputs = _FREE + length
        self._names = _NAMES + _NAMES_PER_BYTE * length

    def add(self, count: int) -> None:
        """Counts nodes, their outputs, and functions. Raises RefusedError when there are too many."""
        self._outputs -= count
        if self._outputs < 0:
            raise RefusedError("Its nodes have more outputs or calls than its size allows.")

    def add_names(self, characters: int) -> None:
        """Counts the lengths of prefixes from calls. Raises RefusedError beyond the limit."""
        self._names -= characters
        if self._names < 0:
            raise RefusedError("The names of its calls, which prefix node names, are too long.")


class OutputArgument(NamedTuple):
    """One output argument of a node: its first slot, and the dtypes of its slots."""

    name: str
    slot: int
    dtypes: tuple[str, ...]


@cache
def _outputs() -> dict[str, tuple[tuple[str, str], ...]]:
    found = {}
    for line in OPS.read_text(encoding="utf-8").splitlines():
        op_type, *outputs = line.split()
        found[op_type] = tuple((name, kind) for name, _, kind in (text.partition(":") for text in outputs))
    return found


def outputs_of(node: Message) -> tuple[OutputArgument, ...] | None:
    """Outputs of a node; None if its op type is unknown (a custom one)."""
    known = _outputs().get(node.op)
    if known is None:
        return None
    found, slot = [], 0
    for name, kind in known:
        dtypes = _dtypes(node, kind)
        found.append(OutputArgument(name, slot, dtypes))
        slot += len(dtypes)
    return tuple(found)


def _dtypes(node: Message, kind: str) -> tuple[str, ...]:
    if kind.startswith("["):
        types = node.attr[kind[1:]].list.type if kind[1:] in node.attr else ()
        return tuple(data_type_name(number) for number in types[:MOST_OUTPUTS])
    count, star, one = kind.rpartition("*")
    if one.startswith("="):
        dtype = one[1:]
    else:
        attribute, _, default = one.partition("/")
        dtype = data_type_name(node.attr[attribute].type) if attribute in node.attr else default or "unknown"
    times = node.attr[count].i if star and count in node.attr else 1
    return (dtype,) * max(0, min(times, MOST_OUTPUTS))
