"""The GraphDef of a closure, with its function library under short names."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping

from tensortap.tf import internals
from tensortap.tf.function_library import TracedFunction
from tensortap.tfproto.function_calls import callees

MAX_GRAPH_DEF = 256 << 20  # bytes; constants can make a GraphDef of any size, protobuf itself ends at 2 GiB

# They hold numbers that differ from process to process.
_FUNCTION_LINKS = ("forward_function_name", "backward_function_name")
_NODE_NUMBERS = ("_gradient_op_type", "_user_specified_name")


def flat_root(functions: Mapping[str, TracedFunction]) -> internals.GraphDef | None:
    """The nodes of the first function, as long as TensorFlow knows what they call: it forgets functions with
    whatever traced them. None if it and all it calls would take more than 256 MiB."""
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
        for link in _FUNCTION_LINKS:
            called.attr.pop(link, None)
        for argument in called.arg_attr.values():
            argument.attr.pop("_user_specified_name", None)
        _rename_calls(called.node_def, short)
    return bytes(graph_def.SerializeToString(deterministic=True))


def _rename_calls(nodes: Iterable[internals.NodeDef], short: Mapping[str, str]) -> None:
    for node in nodes:
        for number in _NODE_NUMBERS:
            node.attr.pop(number, None)
        for callee in callees(node):
            callee.reference.name = short.get(callee.function, callee.function)
