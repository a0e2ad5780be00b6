"""The GraphDef of a closure, with its function library under short names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from . import tf_private
from .closure import TracedFunction, callees

MAX_GRAPH_DEF = 256 << 20  # bytes; constants can make a GraphDef of any size, protobuf itself ends at 2 GiB

# They hold numbers that differ from process to process.
_FUNCTION_LINKS = ("forward_function_name", "backward_function_name")
_NODE_NUMBERS = ("_gradient_op_type", "_user_specified_name")


def serialized_graph_def(functions: Mapping[str, TracedFunction], short: Mapping[str, str]) -> bytes | None:
    """The root's nodes and, in the library, all it calls; the same bytes wherever the same is traced.

    Args:
        functions: breadth first, the root first.
        short: runtime name -> the name to use.

    Returns:
        None if it would take more than 256 MiB.
    """
    root, *others = functions.values()
    if sum(function.definition.ByteSize() for function in functions.values()) > MAX_GRAPH_DEF:
        return None
    graph_def, _ = tf_private.flat_graph_def(root.definition)
    _rename_calls(graph_def.node, short)
    for function in others:
        copy = graph_def.library.function.add()
        copy.CopyFrom(function.definition)
        copy.signature.name = short[function.name]
        for link in _FUNCTION_LINKS:
            copy.attr.pop(link, None)
        for argument in copy.arg_attr.values():
            argument.attr.pop("_user_specified_name", None)
        _rename_calls(copy.node_def, short)
    return bytes(graph_def.SerializeToString(deterministic=True))


def _rename_calls(nodes: Iterable[tf_private.NodeDef], short: Mapping[str, str]) -> None:
    for node in nodes:
        for number in _NODE_NUMBERS:
            node.attr.pop(number, None)
        for callee in callees(node):
            callee.reference.name = short.get(callee.function, callee.function)
