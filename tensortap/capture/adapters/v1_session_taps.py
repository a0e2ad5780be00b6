"""Ops added to a version 1 graph that pass on tensors from inside of loops and branches."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import Any

import numpy as np

from tensortap.core.dtypes import Array
from tensortap.tf import internals

NAME = "tensortap"


class SessionTaps:
    """The taps of one graph, which are added to it as they are asked for.

    A tap is one op in the loop or branch of its tensor; it runs with each iteration, calls back into Python
    and is given the number of the iteration in each loop around it, since iterations overlap. For tensors in
    branches one more tells which iterations there were.
    """

    def __init__(self, graph: Any) -> None:
        self._graph = graph
        self._taps: dict[Any, Any] = {}  # reference of a tensor -> its tap
        self._clocks: dict[Any, Any] = {}  # reference of a tensor in a branch -> of its loop's condition
        self._counters: dict[Any, Any] = {}  # loop -> tensor with the number of its iteration
        self._values: dict[Any, dict[tuple[int, ...], Array]] = {}
        self._lock = threading.Lock()  # callbacks come from TensorFlow's threads

    def ops(self, tensors: Iterable[Any]) -> list[Any]:
        """The taps of tensors (given as references), to be run with the rest."""
        asked = list(tensors)
        clocks = {tensor: clock for tensor in asked if (clock := _clock(tensor.deref().op)) is not None}
        self._clocks |= clocks
        tensors = list(dict.fromkeys([*asked, *clocks.values()]))
        missing = [tensor for tensor in tensors if tensor not in self._taps]
        if missing:
            with internals.unfinalized(self._graph):
                for tensor in missing:
                    self._taps[tensor] = self._tap(tensor)
        return [self._taps[tensor] for tensor in tensors]

    def take(self) -> dict[Any, list[Array | None]]:
        """Values since the last time: by tensor, in the order of iterations; None for those that
        took another branch."""
        with self._lock:
            caught, self._values = self._values, {}
        found: dict[Any, list[Array | None]] = {}
        for tensor in self._taps:
            visits = caught.get(tensor, {})
            clock = caught.get(self._clocks.get(tensor))
            iterations = visits if clock is None else [at for at, goes_on in clock.items() if goes_on]
            found[tensor] = [visits.get(iteration) for iteration in sorted(iterations)]
        return found

    def _tap(self, reference: Any) -> Any:
        tensor = reference.deref()

        def catch(array: Array, *iterations: int) -> None:
            key = tuple(int(number) for number in iterations)
            with self._lock:
                self._values.setdefault(reference, {})[key] = np.asarray(array)

        counters = [self._counter(loop) for loop in _loops_around(tensor.op)]
        return internals.call_in_graph(catch, tensor, counters, name=f"{NAME}/{tensor.op.name}")

    def _counter(self, loop: Any) -> Any:
        if loop not in self._counters:
            self._counters[loop] = internals.iteration_counter(self._graph, loop)
        return self._counters[loop]


def _clock(operation: Any) -> Any:
    """The condition of the loop around an op's branch, which each iteration computes, and the last one finds
    false; None if the op is in no branch, or its branch in no loop."""
    branch = around = internals.control_flow_of(operation)
    while around is not None and not around.IsWhileContext():
        around = around.outer_context
    return around.pivot.ref() if around is not None and around is not branch else None


def _loops_around(operation: Any) -> list[Any]:
    """The version 1 loops that an op lies in, outermost first."""
    found: list[Any] = []
    around = internals.control_flow_of(operation)
    while around is not None:
        if around.IsWhileContext():
            found.insert(0, around)
        around = around.outer_context
    return found
