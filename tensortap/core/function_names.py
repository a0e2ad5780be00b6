"""Unique node names for the nodes of several functions, and short names for the functions themselves."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Protocol

# "__inference_train_step_1234" -> "train_step"; the number differs from process to process.
_CALLABLE = re.compile(r"__(?:inference|forward)_(__backward_)?(.+)_\d+\Z", re.DOTALL)
# "while_body_14_rewritten_grad_269" -> "while_body_grad"
_CONTROL_FLOW_NUMBER = re.compile(r"_\d+(?=_rewritten|_grad|\Z)")


class NamedFunction(Protocol):
    """A function as `unique_node_names` sees it: a FunctionDef message, its arguments, its first caller."""

    @property
    def name(self) -> str: ...
    @property
    def parent(self) -> str: ...
    @property
    def caller(self) -> str: ...
    @property
    def arguments(self) -> Iterable[str]: ...
    @property
    def definition(self) -> Any: ...


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
    numbers = UnusedNames()
    for name in runtime_names:
        short[name] = numbers.take(short_function_name(name))
    return short


class UnusedNames:
    """Gives out each name once: `name`, then `name_1`, `name_2`, …"""

    def __init__(self) -> None:
        self._taken: set[str] = set()
        self._numbers: dict[str, int] = {}

    def __contains__(self, name: str) -> bool:
        return name in self._taken

    def take(self, name: str) -> str:
        """`name`, or the first `name_N` that was not given out yet."""
        candidate, number = name, self._numbers.get(name, 0)
        while candidate in self._taken:
            number += 1
            candidate = f"{name}_{number}"
        self._numbers[name] = number
        self._taken.add(candidate)
        return candidate


def unique_node_names(functions: Mapping[str, NamedFunction]) -> dict[tuple[str, str], str]:
    """(function, op name or argument name) -> the node's name in the recorded graph.

    A name that an earlier function uses is prefixed by the unique name of the calling node (FORMAT.md,
    Graphs).
    """
    unique: dict[tuple[str, str], str] = {}
    numbers = UnusedNames()
    for function in functions.values():
        caller = unique.get((function.parent, function.caller), function.caller)
        names = [*function.arguments, *(node.name for node in function.definition.node_def)]
        for name in names:
            fresh = numbers.take(f"{caller}/{name}" if name in numbers else name)
            unique[function.name, name] = fresh
    return unique
