"""The graph of a traced function for the dump: nodes, functions, stacks, sources, GraphDef."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from tensortap.core.records import Frame, Function, Graph, LayerCall, Node
from tensortap.tf import internals
from tensortap.tf.function_library import TracedFunction
from tensortap.tf.internals import GraphDef
from tensortap.tf.shapes import dtype_text, static_shape
from tensortap.tfproto.attributes import attribute_texts
from tensortap.tfproto.function_calls import argument_inputs, callees

from .candidate import Candidate
from .keras_lines import line_of_variable
from .layer_map import LayerMap
from .node_descriptions import describe_node
from .source_stacks import Stack
from .trace_notes import TracedCall

Names = Mapping[tuple[str, str], str]
Candidates = Mapping[tuple[str, str, int], Candidate]

# MirroredStrategy traces the replicas one after another; the first keeps the plain names.
_REPLICA = re.compile(r"(?:(?<=/)|\A)replica_(\d+)/")


MAX_GRAPH_DEF = 256 << 20  # bytes; constants can make a GraphDef of any size, protobuf itself ends at 2 GiB

_MAX_UNREAD = 20  # variables that are listed
_NODE_NUMBERS = ("_gradient_op_type", "_user_specified_name")


def graph_of(
    functions: Mapping[str, TracedFunction],
    names: Names,
    short: Mapping[str, str],
    layers: LayerMap,
    candidates: Candidates,
    creation_stacks: Mapping[str, Mapping[str, Stack]],
    flat: GraphDef | None,
) -> Graph:
    """A closure as the dump records it, without the text of user files.

    Devices of this process are named without its task (`/device:GPU:0`): all workers of a job record one
    graph.

    Args:
        functions: breadth first, the root first.
        names: (function, op or argument name) -> unique node name.
        short: runtime name of a function -> its name in the graph.
        candidates: give the kind of each tensor and the variable of each gradient.
        creation_stacks: stacks of the nodes, by function and name.
        flat: the root's nodes, see `flat_root`.
    """
    stacks = _Stacks()
    passed = _passed_arguments(functions, names)
    replicas = _replica_numbers(names.values())
    unread = {} if replicas else _unread_variables(functions, layers)
    nodes, task = [], internals.own_task()
    for function in functions.values():
        where = creation_stacks[function.name]
        for operation in function.operations.values():
            unique = names[function.name, operation.name]
            is_argument = operation.name in function.arguments
            layer = layers.layer_of(function.name, operation.name)
            nodes.append(
                Node(
                    name=unique,
                    op_type="_Arg" if is_argument else operation.type,
                    inputs=passed.get(unique, ()) if is_argument else _inputs(function, operation, names),
                    function=short[function.name],
                    device=operation.device.removeprefix(task),
                    attributes=_attributes(function, operation, candidates, layers, unread)
                    | _meaning(functions, function, operation, layer)
                    | ({"tensortap.replica": str(replicas[unique])} if unique in replicas else {}),
                    layer=layer,
                    stack=stacks.index(_made_at(where, operation.name, function)),
                    output_dtypes=tuple(dtype_text(tensor.dtype) for tensor in operation.outputs),
                    output_shapes=tuple(static_shape(tensor.shape) for tensor in operation.outputs),
                )
            )
    return Graph(
        name=short[next(iter(functions))],
        nodes=nodes,
        functions={short[name]: _function(function, short, names) for name, function in functions.items()},
        stacks=stacks.all,
        graph_def=None if flat is None else serialized_graph_def(flat, functions, short),
        layers=_layer_calls(functions, layers, names),
        variables={
            path: kind
            for function in functions.values()
            for path in function.variables.values()
            if (kind := layers.kind_of_variable(path))
        },
    )


_NUMBERED = re.compile(r"(.+)_\d+\Z")


def _made_at(where: Mapping[str, Stack], name: str, function: TracedFunction) -> Stack:
    """The stack of an op. TensorFlow renames one (`x` to `x_0`) whose name a result of its function has."""
    numbered = _NUMBERED.match(name)
    renamed = name not in where and numbered is not None and numbered[1] not in function.operations
    return where.get(numbered[1] if renamed and numbered is not None else name, ())


def _layer_calls(
    functions: Mapping[str, TracedFunction], layers: LayerMap, names: Names
) -> tuple[LayerCall, ...]:
    """The calls of layers in all functions, function by function, without those that raised."""
    found: list[LayerCall] = []
    for function in functions.values():
        name, calls = function.name, layers.traces[function.name].calls
        found += complete_calls(calls, partial(_known_tensors, name, names=names), len(found))
    return tuple(found)


def complete_calls(
    calls: Iterable[TracedCall], name: Callable[[Sequence[str]], Sequence[str]], start: int = 0
) -> list[LayerCall]:
    """The calls that did not raise, the first of them at `start` in the graph; `name` gives tensor names."""
    place: dict[int, int] = {}
    found: list[LayerCall] = []
    for number, call in enumerate(calls):
        if call.is_complete:
            place[number] = start + len(found)
            parent = place.get(call.layer.parent, -1)
            found.append(
                replace(call.layer, parent=parent, inputs=name(call.inputs), outputs=name(call.outputs))
            )
    return found


def _known_tensors(function: str, tensors: Sequence[str], names: Names) -> tuple[str, ...]:
    """Their unique names, without tensors of nodes that the function no longer has."""
    split = [tensor.rpartition(":") for tensor in tensors]
    return tuple(f"{names[function, node]}:{slot}" for node, _, slot in split if (function, node) in names)


class _Stacks:
    """Numbers distinct stacks; the empty one is -1."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[Frame, ...], int] = {}

    @property
    def all(self) -> list[Stack]:
        return list(self._numbers)

    def index(self, stack: Stack) -> int:
        return self._numbers.setdefault(stack, len(self._numbers)) if stack else -1


def _tensor(function: str, tensor: Any, names: Names) -> str:
    return f"{names[function, tensor.op.name]}:{tensor.value_index}"


def _renamed(function: str, flat_name: str, names: Names) -> str:
    node, _, slot = flat_name.rpartition(":")
    return f"{names[function, node]}:{slot}"


def _inputs(function: TracedFunction, operation: Any, names: Names) -> list[str]:
    data = [_tensor(function.name, tensor, names) for tensor in operation.inputs]
    # Their order differs from process to process.
    return data + sorted(f"^{names[function.name, control.name]}" for control in operation.control_inputs)


def _passed_arguments(functions: Mapping[str, TracedFunction], names: Names) -> dict[str, tuple[str, ...]]:
    """Unique name of an inner function's argument -> the tensor its first caller passes."""
    passed: dict[str, tuple[str, ...]] = {}
    for function in functions.values():
        for node in function.definition.node_def:
            for callee in callees(node):
                called = functions.get(callee.function)
                if called is None or (called.parent, called.caller) != (function.name, node.name):
                    continue
                caller = function.operations[node.name]
                tensors = argument_inputs(node.op, list(caller.inputs))
                for argument, tensor in zip(called.arguments, tensors, strict=False):
                    passed[names[called.name, argument]] = (_tensor(function.name, tensor, names),)
    return passed


def _unread_variables(functions: Mapping[str, TracedFunction], layers: LayerMap) -> dict[str, Frame | None]:
    """Variables with requested gradients that no function reads -> where their layers were created."""
    read = {path for function in functions.values() for path in function.variables.values()}
    if not layers.asked & read:
        return {}  # nothing is known, or by other names
    return {path: line_of_variable(path) for path in sorted(layers.asked - read)[:_MAX_UNREAD]}


def _attributes(
    function: TracedFunction,
    operation: Any,
    candidates: Candidates,
    layers: LayerMap,
    unread: Mapping[str, Frame | None],
) -> dict[str, str]:
    """TensorFlow's attributes, and the tensor's role in the model (`tensortap.kind`, `…variable`, and for
    requested gradients `…trainable`, `…left_out`, `…constant` and `…unread`)."""
    texts = {} if operation.name in function.arguments else attribute_texts(operation.node_def.attr)
    candidate = candidates.get((function.name, operation.name, 0))
    if candidate is not None and candidate.kind:
        texts["tensortap.kind"] = candidate.kind
        if unread and candidate.kind == "loss":
            texts["tensortap.unread"] = json.dumps(unread)
    variable = function.variable_of(operation) if candidate is None else candidate.variable
    if variable:
        texts["tensortap.variable"] = variable
        if texts.get("tensortap.kind") == "weight":
            texts |= layers.training_marks(variable)
    return texts


def _meaning(
    functions: Mapping[str, TracedFunction], function: TracedFunction, operation: Any, layer: str
) -> dict[str, str]:
    """Describe a node with a cryptic name (`tensortap.meaning`)."""
    called = next((callee.function for callee in callees(operation.node_def)), "")
    outer = function
    while outer.role == "call":
        outer = functions[outer.parent]
    text = describe_node(operation.name, operation.type, layer=layer, role=outer.role, calls=called)
    return {"tensortap.meaning": text} if text and operation.name not in function.arguments else {}


def _function(function: TracedFunction, short: Mapping[str, str], names: Names) -> Function:
    return Function(
        parent=short.get(function.parent, ""),
        caller=names.get((function.parent, function.caller)),
        role=function.role,
        outputs=tuple(_renamed(function.name, output, names) for output in function.outputs),
    )


def _replica_numbers(names: Collection[str]) -> dict[str, int]:
    """Node name -> replica of a distribution strategy; empty without several of them.

    Nodes that all replicas share have none.
    """
    found = {name: int(match.group(1)) for name in names if (match := _REPLICA.search(name))}
    first = {_REPLICA.sub("", name) for name in found}
    return found | {name: 0 for name in names if name in first and name not in found}


def flat_root(functions: Mapping[str, TracedFunction]) -> internals.GraphDef | None:
    """The nodes of the first function, while TensorFlow knows its callees (it forgets functions with the
    object that traced them). None if the function and its callees would take more than 256 MiB."""
    root = next(iter(functions.values()))
    if sum(function.definition.ByteSize() for function in functions.values()) > MAX_GRAPH_DEF:
        return None
    return internals.flat_graph_def(root.definition)[0]


def serialized_graph_def(
    root: internals.GraphDef, functions: Mapping[str, TracedFunction], short: Mapping[str, str]
) -> bytes:
    """The root's nodes and, in the library, all it calls; the same bytes wherever the same is traced.

    Args:
        root: see `flat_root`.
        functions: breadth first, the root first.
        short: runtime name -> the name to use.
    """
    _, *others = functions.values()
    graph_def = copy.deepcopy(root)
    _rename_calls(graph_def.node, short)
    for function in others:
        called = graph_def.library.function.add()
        called.CopyFrom(function.definition)
        called.signature.name = short[function.name]
        for link in internals.FUNCTION_LINKS:
            called.attr.pop(link, None)
        for argument in called.arg_attr.values():
            argument.attr.pop("_user_specified_name", None)
        _rename_calls(called.node_def, short)
    return bytes(graph_def.SerializeToString(deterministic=True))


def _rename_calls(nodes: Iterable[internals.NodeDef], short: Mapping[str, str]) -> None:
    task = internals.own_task()
    for node in nodes:
        node.device = node.device.removeprefix(task)
        for number in _NODE_NUMBERS:
            node.attr.pop(number, None)
        for callee in callees(node):
            callee.reference.name = short.get(callee.function, callee.function)
