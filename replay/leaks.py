"""Whether what was changed in a step's inputs reaches tensors that it must not reach, and where it enters."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

from tensortap.dump import callees

from .chosen_nodes import ChosenNodes, NodeKey, Visits

Array = np.ndarray[Any, Any]
Part = Callable[[Array], Array | None]
"""Of a tensor that part which must stay as it is; None: it may change as a whole, and is not looked at."""
_READ = "ReadVariableOp"
_ULPS = 256  # kernels may sum in another order
_MASK = 1e4  # -1e4 is what masks in float16 add, others -1e9 or the dtype's lowest


@dataclass(frozen=True, slots=True)
class Leak:
    """`change`: the largest, in units of the largest number that must stay; infinite where a number becomes
    NaN or infinite, or the other way round. `born`: nothing that led here leaks."""

    tensor: str
    op_type: str
    change: float
    born: bool


def leaks(chosen: ChosenNodes, before: Visits, after: Visits, part: Part) -> tuple[list[Leak], int]:
    """Leaking tensors in the order of the graph, and how many tensors were looked at.

    Only the forward pass is: a gradient of a mean over the batch depends on all samples, and so does all that
    is computed of it.
    """
    changes: dict[str, float] = {}
    backward: set[NodeKey] = set()
    for key, operation in chosen.operations.items():
        written = _is_written(chosen.outputs(key), before, after) if operation.type == _READ else False
        if (
            written
            or _is_backward(operation)
            or any((key[0], each.op.name) in backward for each in operation.inputs)
        ):
            backward.add(key)
        for name in () if key in backward or _is_apart(operation) else chosen.outputs(key):
            if name in before:
                change = _change(before[name], after.get(name, ()), part)
                if change is not None:
                    changes[name] = change
    order = [name for key in chosen.operations for name in chosen.outputs(key) if changes.get(name)]
    tracer = _Tracer(chosen, changes)
    found = [
        Leak(name, chosen.candidates[name].op_type, changes[name], not tracer.is_fed(name)) for name in order
    ]
    return found, len(changes)


def _is_backward(operation: Any) -> bool:
    names = operation.name, operation.graph.name
    return any("gradient" in text or "_grad" in text for text in names)


def _is_written(names: Sequence[str], before: Visits, after: Visits) -> bool:
    """Whether the step wrote the variable before it was read: what it held depends on the inputs."""
    return any(
        not np.array_equal(one, other)
        for name in names
        for one, other in zip(before.get(name, ()), after.get(name, ()), strict=False)
    )


def _is_apart(operation: Any) -> bool:
    """Reads variables, or calls functions, whose nodes are looked at one by one."""
    return operation.type == _READ or any(True for _ in callees(operation.node_def))


def _change(before: Sequence[Array], after: Sequence[Array], part: Part) -> float | None:
    if len(before) != len(after) or not is_float(before[0]):
        return None
    worst = None
    for one, other in zip(before, after, strict=True):
        kept, there = part(one), part(other) if one.shape == other.shape else None
        if kept is None or there is None or not kept.size:
            continue
        worst = max(worst or 0.0, distance(kept, there))
    return worst


def distance(kept: Array, there: Array) -> float:
    """The largest change of a number, in units of the largest that no mask put there; 0 if it is rounding."""
    a, b = kept.astype(np.float64), there.astype(np.float64)
    finite = np.isfinite(a) & np.isfinite(b)
    if not np.array_equal(a[~finite], b[~finite], equal_nan=True):
        return float("inf")
    size, difference = np.abs(a[finite]), np.abs(a[finite] - b[finite])
    rounding = _ULPS * float(ml_dtypes.finfo(kept.dtype).eps)  # type: ignore[no-untyped-call]
    # Beside what a mask has put there any change of the others would look like rounding. Where no mask has,
    # the rest is hardly ever much smaller than half of the largest.
    mask = max(_MASK, float(np.max(size, initial=0.0)) / 2)
    others = (size < mask) | (difference > rounding * size)
    scale, change = (float(np.max(each[others], initial=0.0)) for each in (size, difference))
    return 0.0 if change <= rounding * scale else change / (scale or 1.0)


def is_float(array: Array) -> bool:
    """Whether an array holds real floats; bfloat16 is of another kind to NumPy."""
    return bool(array.dtype.kind == "f" or array.dtype == ml_dtypes.bfloat16)


class _Tracer:
    """Goes back from a tensor to the nearest ones that were looked at."""

    def __init__(self, chosen: ChosenNodes, changes: Mapping[str, float]) -> None:
        self._chosen, self._changes = chosen, changes
        self._keys = {name: key for key in chosen.operations for name in chosen.outputs(key)}
        self._known: dict[str, bool] = {}

    def is_fed(self, name: str) -> bool:
        """Whether a leaking tensor leads to this one through tensors that were not looked at."""
        key = self._keys[name]
        waiting = [self._chosen.name(key[0], tensor) for tensor in self._chosen.operations[key].inputs]
        seen = set(waiting)
        while waiting:
            source = waiting.pop()
            if source in self._changes:
                if self._changes[source]:
                    return True
                continue
            above = self._keys.get(source)
            for tensor in self._chosen.operations[above].inputs if above is not None else ():
                further = self._chosen.name(above[0], tensor) if above is not None else ""
                if further not in seen:
                    seen.add(further)
                    waiting.append(further)
        return False
