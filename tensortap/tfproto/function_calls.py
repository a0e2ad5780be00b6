"""Finds which nodes of a GraphDef call which functions, and their roles."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

Role = Literal["root", "call", "body", "cond", "then", "else", "branch"]

T = TypeVar("T")

CALLS = ("PartitionedCall", "StatefulPartitionedCall")
LOOPS = ("While", "StatelessWhile")

# Op type -> the attributes that name functions, with the role of each.
_CALL_ATTRIBUTES: dict[str, tuple[tuple[str, Role], ...]] = {
    **dict.fromkeys(CALLS, (("f", "call"),)),
    **dict.fromkeys(LOOPS, (("cond", "cond"), ("body", "body"))),
    **dict.fromkeys(("If", "StatelessIf"), (("then_branch", "then"), ("else_branch", "else"))),
    **dict.fromkeys(("Case", "StatelessCase"), (("branches", "branch"),)),
}


@dataclass(frozen=True)
class Callee:
    """One reference of a node to a function. `reference` is the mutable proto with the name."""

    role: Role
    reference: Any

    @property
    def function(self) -> str:
        return str(self.reference.name)


def callees(node: Any) -> Iterator[Callee]:
    """The functions that a NodeDef message calls, in the order of its attributes."""
    for attribute, role in _CALL_ATTRIBUTES.get(node.op, ()):
        value = node.attr[attribute]
        references = value.list.func if role == "branch" else [value.func]
        for reference in references:
            yield Callee(role, reference)


def recursion(functions: Collection[Any]) -> list[str]:
    """The names of FunctionDef messages that form a call cycle, with the first one repeated at the end; empty
    without one. Every attribute that names a function counts as a call, as does an op with its name."""
    called = {function.signature.name: set[str]() for function in functions}
    for function in functions:
        for node in function.node_def:
            called[function.signature.name].update(_named_functions(node) & called.keys())
    done: set[str] = set()
    for first in called:
        path = {first: iter(sorted(called[first]))} if first not in done else {}
        while path:
            last = next(reversed(path))
            name = next(path[last], None)
            if name is None:
                done.add(last)
                del path[last]
            elif name in path:
                names = list(path)
                return [*names[names.index(name) :], name]
            elif name not in done:
                path[name] = iter(sorted(called[name]))
    return []


def _named_functions(node: Any) -> set[str]:
    found = {node.op}
    for value in node.attr.values():
        which = value.WhichOneof("value")
        if which == "func":
            found.add(value.func.name)
        elif which == "list":
            found.update(reference.name for reference in value.list.func)
    return found


def argument_inputs(op_type: str, inputs: list[T]) -> list[T]:
    """The inputs of a calling node that become the callee's arguments."""
    # If and Case take the predicate or branch index first.
    return inputs[1:] if op_type in ("If", "StatelessIf", "Case", "StatelessCase") else inputs
