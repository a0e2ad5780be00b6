"""Ops added to a version 1 graph that pass on tensors from inside of loops and branches."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import Any

import numpy as np

from . import tf_private

Array = np.ndarray[Any, Any]
NAME = "tensortap"


class SessionTaps:
    """The taps of one graph, which are added to it as they are asked for.

    A tap is one op in the loop or branch of its tensor; it runs with each iteration, calls back into Python
    and is given the number of the iteration in each loop around it, since iterations overlap.
    """

    def __init__(self, graph: Any) -> None:
        self._graph = graph
        self._taps: dict[Any, Any] = {}  # reference of a tensor -> its tap
        self._counters: dict[Any, Any] = {}  # loop -> tensor with the number of its iteration
        self._caught: dict[Any, list[tuple[tuple[int, ...], Array]]] = {}
        self._lock = threading.Lock()  # callbacks come from TensorFlow's threads

    def ops(self, tensors: Iterable[Any]) -> list[Any]:
        """The taps of tensors (given as references), to be run with the rest."""
        tensors = list(tensors)
        missing = [tensor for tensor in tensors if tensor not in self._taps]
        if missing:
            with tf_private.unfinalized(self._graph):
                for tensor in missing:
                    self._taps[tensor] = self._tap(tensor)
        return [self._taps[tensor] for tensor in tensors]

    def take(self) -> dict[Any, list[Array | None]]:
        """What was caught since the last time: by tensor, in the order of iterations; None for those that
        took another branch. (In loops inside of loops these are left out, as their number is not known.)"""
        with self._lock:
            caught, self._caught = self._caught, {}
        return {tensor: _in_order(visits) for tensor, visits in caught.items()}

    def _tap(self, reference: Any) -> Any:
        tensor = reference.deref()

        def catch(array: Array, *iterations: int) -> None:
            key = tuple(int(number) for number in iterations)
            with self._lock:
                self._caught.setdefault(reference, []).append((key, np.asarray(array)))

        counters = [self._counter(loop) for loop in _loops_around(tensor.op)]
        return tf_private.call_in_graph(catch, tensor, counters, name=f"{NAME}/{tensor.op.name}")

    def _counter(self, loop: Any) -> Any:
        if loop not in self._counters:
            self._counters[loop] = tf_private.iteration_counter(self._graph, loop)
        return self._counters[loop]


def _in_order(visits: list[tuple[tuple[int, ...], Array]]) -> list[Array | None]:
    found: list[Array | None] = []
    for iterations, array in sorted(visits, key=lambda visit: visit[0]):
        if len(iterations) == 1:
            found += [None] * (iterations[0] - len(found))
        found.append(array)
    return found


def _loops_around(operation: Any) -> list[Any]:
    """The version 1 loops that an op lies in, outermost first."""
    found: list[Any] = []
    around = tf_private.control_flow_of(operation)
    while around is not None:
        if around.IsWhileContext():
            found.insert(0, around)
        around = around.outer_context
    return found
