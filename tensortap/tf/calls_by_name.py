"""Calls of functions by name: nodes whose op type is a function's name, as `Defun` makes them (ctc_loss)."""

from __future__ import annotations

from . import internals
from .internals import FunctionDef, NodeDef


def function_def(name: str) -> FunctionDef:
    """The definition of a registered function, with calls by name written as calls of any other function:
    PartitionedCall, StatefulPartitionedCall. Functions that are made anew by each call, for its dtypes, stay
    as they are.

    Raises:
        tf.errors.NotFoundError: no function of that name is registered.
    """
    definition = internals.function_def(name)
    called = {op: internals.function_def(op).signature for op in _names({n.op for n in definition.node_def})}
    called = {op: signature for op, signature in called.items() if not signature.attr}
    if not called:
        return definition
    copy = internals.copied(definition, name)
    renamed: dict[str, str] = {}
    for node in copy.node_def:
        if node.op in called:
            signature = called[node.op]
            for index, argument in enumerate(signature.output_arg):
                renamed[f"{node.name}:{argument.name}:0"] = f"{node.name}:output:{index}"
            _write_as_call(node, signature)
    for node in copy.node_def:
        node.input[:] = [renamed.get(source, source) for source in node.input]
    for output, source in dict(copy.ret).items():
        copy.ret[output] = renamed.get(source, source)
    return copy


def _names(op_types: set[str]) -> list[str]:
    return [op for op in op_types if not internals.is_known(op) and internals.has_function(op)]


def _write_as_call(node: NodeDef, signature: internals.FunctionDef) -> None:
    for attribute in [name for name in node.attr if not name.startswith("_")]:
        del node.attr[attribute]
    node.op = "StatefulPartitionedCall" if signature.is_stateful else "PartitionedCall"
    node.attr["f"].func.name = signature.name
    node.attr["Tin"].list.type.extend(argument.type for argument in signature.input_arg)
    node.attr["Tout"].list.type.extend(argument.type for argument in signature.output_arg)
