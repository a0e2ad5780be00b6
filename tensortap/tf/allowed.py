"""What a recorded call may hold: it came from a file, and running it must not reach anything else."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import tensorflow as tf

from tensortap.core.errors import InvalidValueError
from tensortap.tfproto.function_calls import callees

from . import internals
from .allowed_ops import ALLOWED_OPS

_ALLOWED = frozenset(" ".join(ALLOWED_OPS.values()).split())
# Ops that make tensors of bytes that the recording holds, with the attribute that is the tensor's dtype. A
# handle made so could name what the call was not given; a variant is an object of any kind.
_FROM_BYTES = {
    "Const": "dtype",
    "DeserializeManySparse": "dtype",
    "DeserializeSparse": "dtype",
    "ParseTensor": "out_type",
}
_HANDLES = (tf.resource.as_datatype_enum, tf.variant.as_datatype_enum)
_HINT = "Only ops that compute, and variables of the recording, are run again."


def check_allowed(definitions: Sequence[Any]) -> None:
    """Refuses functions with ops that reach files, the network, Python, or state outside of the call.

    Args:
        definitions: the FunctionDefs of all that is called.

    Raises:
        InvalidValueError: names the first node that is refused.
    """
    why = refused(definitions)
    if why:
        raise InvalidValueError(f"The recording holds {why}, which is not run.", _HINT)


def refused(definitions: Sequence[Any]) -> str:
    """The first node that is not run again: `the op PyFunc (node 'call')`; empty if all are."""
    known = {str(definition.signature.name) for definition in definitions}
    for definition in definitions:
        for node in definition.node_def:
            what = _refused(node, known)
            if what:
                return f"{what} (node {node.name[:120]!r})"
    return ""


def is_allowed(op_type: str) -> bool:
    """Whether an op only computes, or acts on the variables and iterators that it is given."""
    return op_type in _ALLOWED and internals.is_known(op_type)


def _refused(node: Any, known: set[str]) -> str:
    if not is_allowed(node.op):
        return f"the op {node.op[:120]}"
    if node.op in _FROM_BYTES and node.attr[_FROM_BYTES[node.op]].type in _HANDLES:
        return f"a handle made by the op {node.op}"
    called = {callee.function for callee in callees(node)}
    if not known.issuperset(called) or not called.issuperset(_functions(node.attr.values())):
        return f"a call of a function that it lacks by the op {node.op}"
    return ""


def _functions(attributes: Iterable[Any]) -> Iterator[str]:
    for value in attributes:
        if value.HasField("func"):
            yield value.func.name
        yield from (function.name for function in value.list.func)
