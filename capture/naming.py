"""Unique node names for the nodes of several functions, and short names for the functions themselves."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from .closure import TracedFunction

# "__inference_train_step_1234" -> "train_step"; the number differs from process to process.
_CALLABLE = re.compile(r"__(?:inference|forward)_(__backward_)?(.+)_\d+\Z", re.DOTALL)
# "while_body_14_rewritten_grad_269" -> "while_body_grad"
_CONTROL_FLOW_NUMBER = re.compile(r"_\d+(?=_rewritten|_grad|\Z)")


def short_function_name(runtime_name: str) -> str:
    """A function's name without the parts that TensorFlow adds to make it unique in the process."""
    match = _CALLABLE.match(runtime_name)
    if match is None:
        return _CONTROL_FLOW_NUMBER.sub("", runtime_name).replace("_rewritten", "") or runtime_name
    backward, name = match.groups()
    return re.sub(r"_\d+\Z", "", name) + "_backward" if backward else name


def short_function_names(runtime_names: Iterable[str]) -> dict[str, str]:
    """Runtime name -> short name, numbered where two functions share one."""
    short: dict[str, str] = {}
    taken: set[str] = set()
    for name in runtime_names:
        short[name] = unused(short_function_name(name), taken)
        taken.add(short[name])
    return short


def unused(name: str, taken: set[str]) -> str:
    """`name`, or `name_1`, `name_2`, … if that is taken."""
    candidate, number = name, 0
    while candidate in taken:
        number += 1
        candidate = f"{name}_{number}"
    return candidate


def unique_node_names(functions: Mapping[str, TracedFunction]) -> dict[tuple[str, str], str]:
    """(function, op name or argument name) -> the node's name in the recorded graph.

    A name that an earlier function uses is prefixed by the unique name of the calling node (FORMAT.md,
    Graphs).
    """
    unique: dict[tuple[str, str], str] = {}
    taken: set[str] = set()
    for function in functions.values():
        caller = unique.get((function.parent, function.caller), function.caller)
        names = [*function.arguments, *(node.name for node in function.definition.node_def)]
        for name in names:
            fresh = name if name not in taken else unused(f"{caller}/{name}", taken)
            unique[function.name, name] = fresh
            taken.add(fresh)
    return unique
