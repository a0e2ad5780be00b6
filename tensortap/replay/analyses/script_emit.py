"""Python text of a recorded function: names, signatures, a line a node, attributes, constants."""

from __future__ import annotations

import builtins
import inspect
import keyword
import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from tensortap.core.errors import InvalidValueError
from tensortap.dump.recording.recording import Recording
from tensortap.tf.internals import op_definition
from tensortap.tfproto.function_calls import CALLS, argument_inputs, callees

from ..run.loaded_call import LoadedCall

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


_WIDTH = 100
_INDENT = " " * 8


def variable_names(call: LoadedCall, recording: Recording) -> dict[tuple[str, str], str]:
    """Function and argument -> the variable's path, with `_` for `/` (`adam_dense_kernel_momentum`).

    An argument that calls give different variables has none.
    """
    functions = call.recorded.functions
    root = call.recorded.root
    pairs = zip(functions[root].arguments, recording.arguments, strict=False)
    found: dict[tuple[str, str], str] = {
        (root, argument): each.name.replace("/", "_")
        for argument, each in pairs
        if each.kind == "variable" and each.name
    }
    for name, traced in functions.items():  # callers come before what they call
        for operation in traced.operations.values():
            inputs = argument_inputs(operation.type, list(operation.inputs))
            for callee in callees(operation.node_def):
                for argument, tensor in zip(functions[callee.function].arguments, inputs, strict=False):
                    key, given = (callee.function, argument), found.get((name, tensor.op.name), "")
                    found[key] = given if found.get(key, given) == given else ""
    return {key: name for key, name in found.items() if name}


def signature(name: str, arguments: Sequence[str]) -> Iterator[str]:
    """The first lines of a function, as wide as can be read."""
    line = f"def {name}({', '.join(arguments)}):"
    if len(line) <= _WIDTH:
        yield line
        return
    yield f"def {name}("
    # A name holds neither blanks nor hyphens, so that lines end between two of them.
    yield from textwrap.wrap(
        f"{', '.join(arguments)},", _WIDTH, initial_indent=_INDENT, subsequent_indent=_INDENT
    )
    yield "):"


_MOST_NUMBERS = 16  # of a constant that stands in the script itself
_OF_SCRIPT = """sys Path tf RecordedInputs recorded_constants report_differences read_bundle recording K main
branch bundle inputs outputs line"""
_RESERVED = frozenset({*_OF_SCRIPT.split(), *dir(builtins)})
"""What a script's own lines mean by these names must not change."""


class Identifiers:
    """Gives out Python names, each once."""

    def __init__(self) -> None:
        self._taken: set[str] = set(_RESERVED)

    def take(self, text: str) -> str:
        """A name like the last part of a node's."""
        plain = re.sub(r"[^A-Za-z0-9_]", "_", text.rpartition("/")[2])[:60].strip("_") or "x"
        plain = plain if re.match(r"[A-Za-z]", plain) and not keyword.iskeyword(plain) else f"x_{plain}"
        name, number = plain, 1
        while name in self._taken:
            number += 1
            name = f"{plain}_{number}"
        self._taken.add(name)
        return name


def comment(text: str) -> str:
    """Text on one line, whatever it holds."""
    return "".join(character if character.isprintable() else " " for character in text)[:200]


def attribute(value: Any) -> str | None:
    """An AttrValue as Python text; None if it cannot stand in a script."""
    kind = value.WhichOneof("value")
    if kind == "list":
        fields = ("s", "i", "f", "b", "type", "shape")
        items = next((list(getattr(value.list, name)) for name in fields if getattr(value.list, name)), [])
        name = next((name for name in fields if getattr(value.list, name)), "i")
        return "[" + ", ".join(_single(name, item) for item in items) + "]"
    if kind in ("s", "i", "f", "b", "type", "shape"):
        return _single(kind, getattr(value, kind))
    return None


def _single(kind: str, value: Any) -> str:
    if kind == "type":
        return _dtype(value)
    if kind == "shape":
        shape = tf.TensorShape(value)
        return "None" if shape.rank is None else repr(shape.as_list())
    if kind == "f":
        return repr(float(value)) if np.isfinite(value) else f"float({str(float(value))!r})"
    return repr(value)


def constant(tensor: Any) -> str | None:
    """A TensorProto as Python text; None if it is too large to be read."""
    array = tf.make_ndarray(tensor)
    if array.size > _MOST_NUMBERS or array.dtype == object:
        return None
    # The dtypes of ml_dtypes (bfloat16, float8_e4m3fn, int4, …) are of kind V.
    if array.dtype.kind not in "biu" and not np.isfinite(array.astype(np.complex128)).all():
        return None
    return f"tf.constant({array.tolist()!r}, {_dtype(tensor.dtype)}, shape={list(array.shape)!r})"


def _dtype(value: int) -> str:
    """TensorFlow has no name of its own for some (`tf.float8_e5m2`, `tf.int4`)."""
    name = tf.as_dtype(value).name
    return f"tf.{name}" if hasattr(tf, name) else f"tf.as_dtype({name!r})"
