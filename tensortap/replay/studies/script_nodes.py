"""One node of a recorded function as a line of Python."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from typing import Any

import tensorflow as tf

from tensortap.core.errors import InvalidValueError
from tensortap.tf.internals import op_definition
from tensortap.tfproto.function_calls import CALLS, argument_inputs, callees

from .script_values import attribute, constant

_FUNCTIONAL = ("While", "StatelessWhile", "If", "StatelessIf", "Case", "StatelessCase", *CALLS)


def output_text(operation: Any, name: str, slot: int) -> str:
    """How the output of a node is read from what its line assigned."""
    if operation.type in _FUNCTIONAL:
        return f"{name}[{slot}]"
    arguments = op_definition(operation.type).output_arg
    first = 0
    for argument in arguments:
        is_list = bool(argument.number_attr or argument.type_list_attr)
        width = _width(operation.node_def, argument)
        if slot < first + width:
            whole = name if len(arguments) == 1 else f"{name}.{argument.name}"
            return f"{whole}[{slot - first}]" if is_list else whole
        first += width
    raise InvalidValueError(f"{operation.name[:120]!r} has no output {slot}.")


def _width(node: Any, argument: Any) -> int:
    if argument.type_list_attr:
        return len(node.attr[argument.type_list_attr].list.type)
    return int(node.attr[argument.number_attr].i) if argument.number_attr else 1


def node_lines(operation: Any, name: str, inputs: list[str], functions: Mapping[str, str]) -> Iterator[str]:
    """The lines that compute a node.

    Args:
        inputs: Python text of each data input.
        functions: registered name -> Python name.

    Raises:
        InvalidValueError: TensorFlow offers no such op to Python.
    """
    node = operation.node_def
    if operation.type == "NoOp":
        return
    if operation.type in _FUNCTIONAL:
        yield from _call(operation, name, inputs, functions)
    elif operation.type == "Const":
        text = constant(node.attr["value"].tensor)
        yield f"{name} = {text or f'K[{operation.graph.name!r}, {operation.name!r}]'}"
    else:
        outputs = op_definition(operation.type).output_arg
        begin = f"{name} = " if outputs else ""
        yield f"{begin}tf.raw_ops.{operation.type}({', '.join(_arguments(operation, inputs))})"


def _call(operation: Any, name: str, inputs: list[str], functions: Mapping[str, str]) -> Iterator[str]:
    called = [functions[callee.function] for callee in callees(operation.node_def)]
    passed = ", ".join(argument_inputs(operation.type, inputs))
    if operation.type in CALLS:
        yield f"{name} = {called[0]}({passed})"
    elif "While" in operation.type:
        condition, body = called
        yield f"{name} = [{passed}]"
        yield f"while {condition}(*{name})[0]:"
        yield f"    {name} = {body}(*{name})"
    elif "If" in operation.type:
        yield f"{name} = ({called[0]} if {inputs[0]} else {called[1]})({passed})"
    else:  # an index beyond the branches means the last one
        last = len(called) - 1
        yield f"branch = int({inputs[0]})"
        yield f"{name} = [{', '.join(called)}][branch if 0 <= branch < {last} else {last}]({passed})"


def _arguments(operation: Any, inputs: list[str]) -> Iterator[str]:
    function = getattr(tf.raw_ops, operation.type, None)
    if function is None:
        raise InvalidValueError(f"TensorFlow has no tf.raw_ops.{operation.type[:80]}.")
    wanted = list(inspect.signature(function).parameters)
    definition = op_definition(operation.type)
    rest = list(inputs)
    for number, argument in enumerate(definition.input_arg):
        width = _width(operation.node_def, argument)
        own, rest = rest[:width], rest[width:]
        is_list = bool(argument.number_attr or argument.type_list_attr)
        key = argument.name if argument.name in wanted else wanted[number]  # Python has other names for some
        yield f"{key}=[{', '.join(own)}]" if is_list else f"{key}={own[0]}"
    for described in definition.attr:
        value = operation.node_def.attr[described.name]
        text = attribute(value) if described.name in wanted and value != described.default_value else None
        if text is not None:
            yield f"{described.name}={text}"
