"""The tensors of one step for triggers, measured on demand."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from tensortap.core.names import parse_tensor_name
from tensortap.core.records import Graph, Node, Summary
from tensortap.stats.summarize import summarize

from ..tracing.candidate import Candidate

_FAST = (np.float32, np.float64)


@dataclass(eq=False)
class Examined:
    """One captured tensor of a step. `graph` is where its node is, if that is known."""

    candidate: Candidate
    visit: int
    array: np.ndarray[Any, Any]
    graph: Graph | None = None

    @property
    def name(self) -> str:
        """The tensor name, `node:slot`."""
        return self.candidate.name

    @cached_property
    def summary(self) -> Summary:
        """dtype, shape, counts, statistics, histogram."""
        return summarize(self.array)

    @cached_property
    def nonfinite(self) -> tuple[int, int]:
        """(NaN, infinite elements)."""
        # A sum is finite only if all elements are; one that is not may also have overflowed.
        if self.array.dtype.type in _FAST:
            with np.errstate(all="ignore"):
                if np.isfinite(self.array.sum()):
                    return 0, 0
        elif self.array.dtype.kind in "biuOSU":
            return 0, 0
        return self.summary.nan, self.summary.pos_inf + self.summary.neg_inf


class StepSummaries(Mapping[str, Summary]):
    """The summaries of one step's tensors by tensor name: `step["dense/Relu:0"].abs_max`.

    For a tensor with several visits, this is the last one. `tensors` has all visits in the order of the
    graph.

    Example:
        ```python
        def grows(step):
            return any(tensor.abs_max > 1e4 for tensor in step.tensors)

        tensortap.Tap("logs/growth", on=grows)
        ```
    """

    def __init__(self, step: int, tensors: Sequence[Examined]) -> None:
        self.step = step
        self.tensors = tensors
        self._by_name = {tensor.name: tensor for tensor in tensors}

    def __getitem__(self, name: str) -> Summary:
        node, slot = parse_tensor_name(name)
        return self._by_name[f"{node}:{slot}"].summary

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_name)

    def __len__(self) -> int:
        return len(self._by_name)

    def tensor(self, name: str) -> Examined | None:
        """The last visit of a tensor, if it was examined."""
        return self._by_name.get(name)


class GraphLookup:
    """Nodes of a graph by name, created on first use."""

    def __init__(self) -> None:
        self._nodes: dict[int, tuple[Graph, dict[str, Node]]] = {}

    def node(self, graph: Graph | None, name: str) -> Node | None:
        """A node; None if the graph has no node of that name."""
        if graph is None:
            return None
        known = self._nodes.get(id(graph))
        if known is None or known[0] is not graph:
            self._nodes = {id(graph): (graph, {node.name: node for node in graph.nodes})}
            known = self._nodes[id(graph)]
        return known[1].get(name)

    def sources(self, graph: Graph | None, node: Node) -> list[str]:
        """Names of the tensors that a node reads; for an argument, the caller's tensor."""
        return [self._caller_input(graph, name) for name in node.inputs if not name.startswith("^")]

    def returned(self, graph: Graph | None, node: Node) -> list[str]:
        """Names of the results of the functions that a node calls."""
        called = () if graph is None else graph.functions.values()
        return [name for function in called if function.caller == node.name for name in function.outputs]

    def may_hold(self, graph: Graph | None, name: str, dtypes: Collection[str]) -> bool:
        """Whether a tensor may have one of these dtypes; true for an unknown one."""
        node_name, slot = parse_tensor_name(name)
        node = self.node(graph, node_name)
        return node is None or slot >= len(node.output_dtypes) or node.output_dtypes[slot] in dtypes

    def _caller_input(self, graph: Graph | None, name: str) -> str:
        argument = self.node(graph, parse_tensor_name(name)[0])
        while argument is not None and argument.op_type == "_Arg" and argument.inputs:
            name = argument.inputs[0]
            argument = self.node(graph, parse_tensor_name(name)[0])
        return name
