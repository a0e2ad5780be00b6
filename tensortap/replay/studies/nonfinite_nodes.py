"""Nodes of a recorded step that make NaN or infinite numbers of finite ones, or NaN of infinite constants."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tensortap.core.dtypes import Array
from tensortap.dump.recording.model import Recording
from tensortap.tf.random_ops import draws
from tensortap.tfproto.function_calls import callees

from ..run.floats import is_float
from ..run.node_selection import ChosenNodes, NodeKey, pattern_of, visits_of
from ..run.rerun import LoadedCall, Rerun
from .intended_infinities import Infinity, held_infinity

_MOST_ROWS = 100


def non_finite(array: Array) -> int:
    """How many numbers of an array are NaN or infinite."""
    if array.dtype.kind != "c" and not is_float(array):
        return 0
    return int((~np.isfinite(array)).sum())


def size_of(array: Array) -> float:
    """The largest absolute number of a float array; infinities and NaN left out."""
    if not is_float(array):
        return 0.0
    sizes = np.abs(array.astype(np.float64))
    return float(np.max(sizes, initial=0.0, where=np.isfinite(sizes)))


@dataclass(frozen=True, slots=True)
class Birth:
    """A node whose output is not finite although all of its inputs are; `count` of its numbers. Or one that
    makes NaN of an infinite constant of the program (`of`), as softmax does of a row that is masked whole."""

    key: NodeKey
    node: str
    op_type: str
    count: int
    of: Infinity | None = None


class StepNodes:
    """All nodes of a loaded call."""

    def __init__(self, call: LoadedCall) -> None:
        self.call = call
        self.chosen = ChosenNodes(call, pattern_of(""))

    def births(self, call: LoadedCall | None = None) -> tuple[list[Birth], Rerun]:
        """In the order of the graph, and the run that they are of.

        Args:
            call: one that was changed, whose nodes have the same names.
        """
        chosen = self.chosen if call is None else ChosenNodes(call, pattern_of(""))
        again = chosen.run(as_written=True)
        values = visits_of(again)
        found = []
        for key, operation in chosen.operations.items():
            if not _computes(operation):
                continue
            names = [name for name in chosen.outputs(key) if name]
            count = sum(non_finite(array) for name in names for array in values.get(name, ()))
            if not count:
                continue
            of = None
            if not self._is_born(chosen, key, values):
                of = held_infinity(chosen, key, values) if _is_turned(chosen, key, values) else None
                if of is None:
                    continue
            found.append(Birth(key, names[0].rpartition(":")[0], operation.type, count, of))
        return found, again

    @staticmethod
    def _is_born(chosen: ChosenNodes, key: NodeKey, values: dict[str, list[Array]]) -> bool:
        inputs = [chosen.name(key[0], tensor) for tensor in chosen.operations[key].inputs]
        read = [values[name] for name in inputs if name in values]
        visits = [len(each) for name in chosen.outputs(key) for each in [values.get(name, [])]]
        for visit in range(max(visits, default=0)):
            finite = all(not non_finite(each[visit]) for each in read if visit < len(each))
            made = any(
                non_finite(values[name][visit])
                for name in chosen.outputs(key)
                if visit < len(values.get(name, []))
            )
            if finite and made:
                return True
        return False


def _is_turned(chosen: ChosenNodes, key: NodeKey, values: dict[str, list[Array]]) -> bool:
    """Whether a node gives NaN at a visit at which it reads none."""
    for visit, read in enumerate(chosen.inputs(key, values) or ()):
        given = [values[name][visit] for name in chosen.outputs(key) if visit < len(values.get(name, ()))]
        if any(map(_has_nan, given)) and not any(map(_has_nan, read)):
            return True
    return False


def _has_nan(array: Array) -> bool:
    return is_float(array) and bool(np.isnan(array).any())


def _computes(operation: Any) -> bool:
    """Whether a node makes numbers of numbers. What reads a variable or a list only passes on what was put
    into it before, perhaps in the same step."""
    if not operation.inputs or draws(operation.type):
        return False
    held = any(tensor.dtype.name in ("resource", "variant") for tensor in operation.inputs)
    return not held and not any(True for _ in callees(operation.node_def))


def given_non_finite(recording: Recording) -> list[str]:
    """Names of the variables and inputs that were not finite before the step."""
    return [
        argument.name
        for argument in recording.arguments
        if any(non_finite(array) for array in argument.arrays)
    ]


def bad_rows(recording: Recording) -> dict[str, list[int]]:
    """Which rows of the step's data (inputs, what was drawn from iterators) are not finite, by name.

    Of each array the first 100; of a number alone row 0.
    """
    found: dict[str, list[int]] = {}
    for argument in recording.arguments:
        for array in argument.arrays if argument.kind != "variable" and not argument.drawn else ():
            if non_finite(array):
                bad = ~np.isfinite(np.atleast_1d(array))
                rows = np.flatnonzero(bad.reshape(len(bad), -1).any(axis=1))
                found.setdefault(argument.name, []).extend(rows[:_MOST_ROWS].tolist())
    return found


def bad_results(recording: Recording, again: Rerun) -> list[str]:
    """What a step left that is not finite: variables by name, `output N`; or that it failed."""
    names: Sequence[str] = [argument.name for argument in recording.arguments]
    found = [f"output {number}" for number, array in enumerate(again.outputs) if non_finite(array)]
    found += [names[number] for number, array in again.variables.items() if non_finite(array)]
    return found + ([f"it fails: {type(again.failure).__name__}"] if again.failure is not None else [])
