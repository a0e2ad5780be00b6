"""What the stateful random ops of one call drew, as the arguments from which it runs again."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from tensortap.core.dtypes import Array
from tensortap.dump.recording.recording import Argument, Part
from tensortap.tf.shapes import static_shape

from ..instrument.tap_queues import Route
from ..instrument.tapped_function import TapValues
from ..tracing.traced_function import Place, TracedRoot
from .random_draws import SHUFFLE, Draw, UnrecordableError


class RandomDrawValues:
    """Collects what the taps of a call deliver.

    Args:
        draws: what the arguments hold, in order.
    """

    def __init__(self, traced: TracedRoot, draws: Sequence[Draw]) -> None:
        self._traced = traced
        self._draws = draws
        self._arrays: defaultdict[tuple[Route, Place], list[Array]] = defaultdict(list)

    def take(self, values: TapValues) -> None:
        """Adds tapped values, visit by visit."""
        for places, arrays, _, routes in values:
            for place, route, array in zip(places, routes, arrays or (), strict=False):
                self._arrays[route, place].append(array)

    def arguments(self) -> Iterator[Argument]:
        """Those behind the call's own.

        Raises:
            UnrecordableError: a node drew more often than it can have.
        """
        for draw in self._draws:
            candidate = self._traced.candidates.get((draw.function, draw.node, 0))
            name = candidate.node if candidate is not None else draw.node
            visits = self._visits(draw)
            if draw.iterated:
                parts = tuple(Part(each.dtype.name, static_shape(each.shape)) for each in draw.outputs)
                flat = tuple(array for visit in visits for array in visit)
                yield Argument("iterator", name, flat, parts=parts, drawn=True)
                continue
            if len(visits) > 1:
                raise UnrecordableError(f"its calls cannot be told apart (node {draw.node!r})")
            for array in visits[0] if visits else _never_read(draw):
                yield Argument("tensor", name, (array,), drawn=True)

    def _visits(self, draw: Draw) -> list[tuple[Array, ...]]:
        """The arrays of each visit."""
        count = 1 if draw.op_type == SHUFFLE else len(draw.outputs)
        places = [(draw.function, draw.node, slot) for slot in range(count)]
        visits = list(zip(*(self._arrays[draw.route, place] for place in places), strict=False))
        if draw.op_type != SHUFFLE:
            return visits
        source = self._traced.functions[draw.function].operations[draw.node].inputs[0]
        before = self._arrays[draw.route, (draw.function, source.op.name, source.value_index)]
        return [(_permutation(old, new),) for old, (new,) in zip(before, visits, strict=False)]


def _never_read(draw: Draw) -> list[Array]:
    """Stands for what was not drawn, because the branch was not taken or the call failed before."""
    shapes = [static_shape(output.shape) or () for output in draw.outputs]
    return [
        np.zeros([extent or 0 for extent in shape], output.dtype.as_numpy_dtype)
        for shape, output in zip(shapes, draw.outputs, strict=True)
    ]


def _permutation(before: Array, after: Array) -> Array:
    """Indices of rows such that `before[indices]` is `after`, in every bit."""
    waiting: defaultdict[Any, list[int]] = defaultdict(list)
    for number in reversed(range(len(before))):
        waiting[_key(before[number])].append(number)
    return np.array([waiting[_key(row)].pop() for row in after], np.int64)


def _key(row: Any) -> Any:
    array = np.asarray(row)
    return repr(array.tolist()) if array.dtype == object else array.tobytes()
