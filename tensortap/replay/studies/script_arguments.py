"""The arguments of a script's functions, and which variable one stands for, where the recording tells it."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from tensortap.dump.recording.model import Recording
from tensortap.tfproto.function_calls import argument_inputs, callees

from ..run.rerun import LoadedCall

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
