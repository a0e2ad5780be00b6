"""The nodes of a recorded step where NaN and infinities originate, and the step's non-finite data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tensortap.core.dtypes import Array
from tensortap.dump.recording.recording import Recording
from tensortap.tf.random_ops import draws
from tensortap.tfproto.function_calls import callees

from ..execution.float_arrays import is_float
from ..execution.loaded_call import CallResult, LoadedCall
from ..execution.node_selection import NodeKey, SelectedNodes, Visits, pattern_of, visits_of

_MOST_ROWS = 100


def count_nonfinite(array: Array) -> int:
    """Counts the numbers of an array that are NaN or infinite."""
    if array.dtype.kind != "c" and not is_float(array):
        return 0
    return int((~np.isfinite(array)).sum())


def largest_magnitude(array: Array) -> float:
    """The largest magnitude of a float array, without infinities and NaN."""
    if not is_float(array):
        return 0.0
    sizes = np.abs(array.astype(np.float64))
    return float(np.max(sizes, initial=0.0, where=np.isfinite(sizes)))


@dataclass(frozen=True, slots=True)
class NodeOrigin:
    """A node with a non-finite output although all of its inputs are finite; `count` numbers of it
    are not. Or one that computes NaN from an infinite `constant` of the program, e.g. softmax of a fully
    masked row."""

    key: NodeKey
    node: str
    op_type: str
    count: int
    constant: InfiniteConstant | None = None


class StepNodes:
    """All nodes of a loaded call."""

    def __init__(self, call: LoadedCall) -> None:
        self.call = call
        self.chosen = SelectedNodes(call, pattern_of(""))

    def origins(self, call: LoadedCall | None = None) -> tuple[list[NodeOrigin], CallResult]:
        """The nodes where NaN or infinities originate, in the order of the graph, and the run itself.

        Args:
            call: a changed call; its nodes have the same names.
        """
        chosen = self.chosen if call is None else SelectedNodes(call, pattern_of(""))
        again = chosen.run(as_written=True)
        values = visits_of(again)
        found = []
        for key, operation in chosen.operations.items():
            if not _computes(operation):
                continue
            names = [name for name in chosen.outputs(key) if name]
            count = sum(count_nonfinite(array) for name in names for array in values.get(name, ()))
            if not count:
                continue
            constant = None
            if not self._is_origin(chosen, key, values):
                constant = (
                    infinite_constant(chosen, key, values)
                    if _makes_nan_of_infinity(chosen, key, values)
                    else None
                )
                if constant is None:
                    continue
            found.append(NodeOrigin(key, names[0].rpartition(":")[0], operation.type, count, constant))
        return found, again

    @staticmethod
    def _is_origin(chosen: SelectedNodes, key: NodeKey, values: dict[str, list[Array]]) -> bool:
        inputs = [chosen.name(key[0], tensor) for tensor in chosen.operations[key].inputs]
        read = [values[name] for name in inputs if name in values]
        visits = [len(each) for name in chosen.outputs(key) for each in [values.get(name, [])]]
        for visit in range(max(visits, default=0)):
            finite = all(not count_nonfinite(each[visit]) for each in read if visit < len(each))
            made = any(
                count_nonfinite(values[name][visit])
                for name in chosen.outputs(key)
                if visit < len(values.get(name, []))
            )
            if finite and made:
                return True
        return False


def _makes_nan_of_infinity(chosen: SelectedNodes, key: NodeKey, values: dict[str, list[Array]]) -> bool:
    """Whether a node outputs NaN at a visit without NaN inputs."""
    for visit, read in enumerate(chosen.inputs(key, values) or ()):
        given = [values[name][visit] for name in chosen.outputs(key) if visit < len(values.get(name, ()))]
        if any(map(_has_nan, given)) and not any(map(_has_nan, read)):
            return True
    return False


def _has_nan(array: Array) -> bool:
    return is_float(array) and bool(np.isnan(array).any())


def _computes(operation: Any) -> bool:
    """Whether a node computes numbers from numbers. Reads of variables and lists only pass on earlier values,
    perhaps of the same step."""
    if not operation.inputs or draws(operation.type):
        return False
    held = any(tensor.dtype.name in ("resource", "variant") for tensor in operation.inputs)
    return not held and not any(True for _ in callees(operation.node_def))


def nonfinite_arguments(recording: Recording) -> list[str]:
    """Names of the variables and inputs that were not finite before the step."""
    return [
        argument.name
        for argument in recording.arguments
        if any(count_nonfinite(array) for array in argument.arrays)
    ]


def nonfinite_rows(recording: Recording) -> dict[str, list[int]]:
    """The non-finite rows of the step's data (inputs, iterator outputs), by name.

    Of each array the first 100; of a number alone row 0.
    """
    found: dict[str, list[int]] = {}
    for argument in recording.arguments:
        for array in argument.arrays if argument.kind != "variable" and not argument.drawn else ():
            if count_nonfinite(array):
                bad = ~np.isfinite(np.atleast_1d(array))
                rows = np.flatnonzero(bad.reshape(len(bad), -1).any(axis=1))
                found.setdefault(argument.name, []).extend(rows[:_MOST_ROWS].tolist())
    return found


def nonfinite_results(recording: Recording, again: CallResult) -> list[str]:
    """Results of a step that are not finite: variables by name, `output N`; or that it failed."""
    names: Sequence[str] = [argument.name for argument in recording.arguments]
    found = [f"output {number}" for number, array in enumerate(again.outputs) if count_nonfinite(array)]
    found += [names[number] for number, array in again.variables.items() if count_nonfinite(array)]
    return found + ([f"it fails: {type(again.failure).__name__}"] if again.failure is not None else [])


@dataclass(frozen=True, slots=True)
class InfiniteConstant:
    """An infinite constant: the first tensor that has it among other numbers (the constant itself, if the
    node reads it alone), and its value, -inf or inf."""

    tensor: str
    value: float


def infinite_constant(chosen: SelectedNodes, key: NodeKey, values: Visits) -> InfiniteConstant | None:
    """The infinite constant that a node reads, through any number of nodes of its function.

    None if what it reads is finite, or an infinity of which is unknown that it is a constant: it was made
    of finite numbers, came in from the function's caller, or was kept in a variable or list.
    """
    begun: list[InfiniteConstant] = []
    waiting = _infinite(chosen, key[0], chosen.operations[key], values)
    seen = {name for name, _, _ in waiting}
    while waiting:
        name, operation, value = waiting.pop()
        read = _infinite(chosen, key[0], operation, values)
        constants = [each for each in read if each[1].type == "Const"]
        if operation.type == "Const" or constants:
            begun.append(InfiniteConstant(name, value))
        elif not read:
            return None
        waiting += [each for each in read if each not in constants and each[0] not in seen]
        seen |= {each[0] for each in read}
    return begun[-1] if begun else None


def _infinite(
    chosen: SelectedNodes, function: str, operation: Any, values: Visits
) -> list[tuple[str, Any, float]]:
    """(tensor, the node that outputs it, its first infinite number) for each infinite input of a node."""
    found = []
    for tensor in operation.inputs:
        name = chosen.name(function, tensor)
        for array in values.get(name, ()):
            if tensor.dtype.is_floating and np.isinf(array).any():
                found.append((name, tensor.op, float(array[np.isinf(array)].flat[0])))
                break
    return found
