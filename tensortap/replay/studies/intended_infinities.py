"""Where infinities begin that the program itself holds, as a mask of -inf does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..run.node_selection import ChosenNodes, NodeKey, Visits


@dataclass(frozen=True, slots=True)
class Infinity:
    """An infinite constant: the tensor that it first stands in beside other numbers (that of the constant
    itself where the node reads it alone), and its value, -inf or inf."""

    tensor: str
    value: float


def held_infinity(chosen: ChosenNodes, key: NodeKey, values: Visits) -> Infinity | None:
    """The infinite constant that a node reads, through any number of nodes of its function.

    None if what it reads is finite, or an infinity of which is not known that it is a constant: it was made
    of finite numbers, came in from the function's caller, or was kept in a variable or list.
    """
    begun: list[Infinity] = []
    waiting = _infinite(chosen, key[0], chosen.operations[key], values)
    seen = {name for name, _, _ in waiting}
    while waiting:
        name, operation, value = waiting.pop()
        read = _infinite(chosen, key[0], operation, values)
        constants = [each for each in read if each[1].type == "Const"]
        if operation.type == "Const" or constants:
            begun.append(Infinity(name, value))
        elif not read:
            return None
        waiting += [each for each in read if each not in constants and each[0] not in seen]
        seen |= {each[0] for each in read}
    return begun[-1] if begun else None


def _infinite(
    chosen: ChosenNodes, function: str, operation: Any, values: Visits
) -> list[tuple[str, Any, float]]:
    """(tensor, the node that gives it, the first infinite number in it) of each infinite input of a node."""
    found = []
    for tensor in operation.inputs:
        name = chosen.name(function, tensor)
        for array in values.get(name, ()):
            if tensor.dtype.is_floating and np.isinf(array).any():
                found.append((name, tensor.op, float(array[np.isinf(array)].flat[0])))
                break
    return found
