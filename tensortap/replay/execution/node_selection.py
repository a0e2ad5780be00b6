"""Selection of nodes of a loaded call by their tensors' names, and their inputs and outputs at each visit."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tensortap.capture.tracing.candidate import Candidate
from tensortap.core.dtypes import Array
from tensortap.core.errors import SelectionError

from .loaded_call import CallResult, LoadedCall

NodeKey = tuple[str, str]
"""A function as it is registered, and a node of it."""
Visits = Mapping[str, Sequence[Array]]
"""Tensor name -> its value at each visit."""


def pattern_of(text: str) -> re.Pattern[str]:
    """A regular expression for tensors' names.

    Raises:
        SelectionError: it is not one.
    """
    try:
        return re.compile(text)
    except re.error as error:
        raise SelectionError(f"{text!r} is not a regular expression: {error}.") from error


class SelectedNodes:
    """The nodes of a call that output a tensor with a matching name; arguments of functions are not nodes.

    Attributes:
        operations: in the order of the graph.
        candidates: tensor name -> its candidate, for the whole call.
    """

    def __init__(self, call: LoadedCall, pattern: re.Pattern[str]) -> None:
        self._call = call
        self._names = {place: candidate.name for place, candidate in call.recorded.candidates.items()}
        self.candidates: dict[str, Candidate] = {each.name: each for each in call.candidates}
        self.operations: dict[NodeKey, Any] = {}
        for (function, node, _), candidate in call.recorded.candidates.items():
            traced = call.recorded.functions[function]
            if pattern.search(candidate.name) and node not in traced.arguments:
                self.operations[function, node] = traced.operations[node]

    def tensors(self) -> set[str]:
        """Names of the nodes' inputs and outputs."""
        return {
            self.name(function, tensor)
            for (function, _), operation in self.operations.items()
            for tensor in (*operation.inputs, *operation.outputs)
        } - {""}

    def name(self, function: str, tensor: Any) -> str:
        """The name of a tensor of a function's graph; empty if it cannot be captured."""
        return self._names.get((function, tensor.op.name, tensor.value_index), "")

    def near(self, keys: Iterable[NodeKey], distance: int) -> set[NodeKey]:
        """These nodes and those within some number of edges, in the same function."""
        found = edge = set(keys)
        for _ in range(distance):
            edge = {
                (key[0], other.name)
                for key in edge
                for tensor in (*self.operations[key].inputs, *self.operations[key].outputs)
                for other in (tensor.op, *tensor.consumers())
                if (key[0], other.name) in self.operations
            } - found
            found = found | edge
        return found

    def outputs(self, key: NodeKey) -> list[str]:
        """Names of a node's outputs, by slot."""
        return [self.name(key[0], tensor) for tensor in self.operations[key].outputs]

    def values(self) -> dict[str, list[Array]]:
        """Runs the call and returns the nodes' inputs and outputs at each visit."""
        return visits_of(self.run())

    def run(self, *, as_written: bool = False) -> CallResult:
        """Runs the call with the nodes' inputs and outputs fetched; see `LoadedCall.run`."""
        wanted = self.tensors()
        return self._call.run(lambda candidate: candidate.name in wanted, as_written=as_written)

    def inputs(self, key: NodeKey, values: Visits) -> list[list[Array]] | None:
        """Inputs of a node at each visit; None if it has none, or one ran less often than another."""
        names = [self.name(key[0], tensor) for tensor in self.operations[key].inputs]
        if not names or any(name not in values for name in names):
            return None
        arrays = [values[name] for name in names]
        if len({len(each) for each in arrays}) != 1:
            return None
        return [list(visit) for visit in zip(*arrays, strict=True)]


def visits_of(again: CallResult) -> dict[str, list[Array]]:
    """The tensors of a run by name, at each visit."""
    found: dict[str, list[Array]] = {}
    for candidate, _, array in again.tensors:
        found.setdefault(candidate.name, []).append(array)
    return found
