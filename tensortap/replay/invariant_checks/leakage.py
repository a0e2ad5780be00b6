"""Leakage: changes of a step's inputs that reach tensors which they must not reach, and where they enter."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np

from tensortap.core.dtypes import Array
from tensortap.tfproto.function_calls import callees

from ..execution.float_arrays import MASK, is_float
from ..execution.forward_pass import READ, ForwardPass, ReadShare
from ..execution.node_selection import SelectedNodes, Visits

UnaffectedPart = Callable[[Array, int, int], Array | None]
"""(tensor, visit, number of visits) -> the part that must stay as it is; None: all of it may change."""
_REVERSALS = ("ReverseV2", "ReverseSequence")
_ULPS = 256  # kernels may sum in another order
_MOST_ROUNDING = 2.0**-5  # 256 ULP of bfloat16 are twice the number; half precision is summed in float32


@dataclass(frozen=True, slots=True)
class Leak:
    """`change`: the largest change, relative to the largest number that must stay; infinite if a number
    becomes NaN or infinite, or finite. `is_origin`: no input leaks."""

    tensor: str
    op_type: str
    change: float
    is_origin: bool


@dataclass(frozen=True, slots=True)
class LeakReport:
    """`leaks` in graph order; the tensors that were `checked`; the number `skipped` because they depend on
    variables written earlier in the step."""

    leaks: list[Leak]
    checked: list[str]
    skipped: int


def find_leaks(
    chosen: SelectedNodes,
    forward: ForwardPass,
    before: Visits,
    after: Visits,
    *parts: UnaffectedPart,
    of: int = 1,
) -> LeakReport:
    """Compares two runs of a step.

    Only the forward pass is checked: a gradient of a mean over the batch depends on all samples, and so
    does all that is computed of it. Where a step runs the model several times, that is its first run.

    Args:
        parts: the parts that must not change; if a function has several, the one with the fewest leaks
            counts.
        of: how often the step runs the changed part; only the first run is checked.
    """
    changes: dict[str, float] = {}
    skipped = 0
    for function in dict.fromkeys(key[0] for key in chosen.operations):
        results = [_changes_in(function, chosen, forward, before, after, part, of) for part in parts]
        best, skipped_here = min(results, key=lambda each: sum(1 for change in each[0].values() if change))
        changes |= best
        skipped += skipped_here
    order = [name for key in chosen.operations for name in chosen.outputs(key) if changes.get(name)]
    search = _UpstreamSearch(chosen, changes)
    found = [
        Leak(name, chosen.candidates[name].op_type, changes[name], not search.has_leaking_input(name))
        for name in order
    ]
    return LeakReport(found, list(changes), skipped)


def _changes_in(
    function: str,
    chosen: SelectedNodes,
    forward: ForwardPass,
    before: Visits,
    after: Visits,
    part: UnaffectedPart,
    of: int,
) -> tuple[dict[str, float], int]:
    """Tensor -> change, for the checked tensors of a function; and the number of skipped ones."""
    changes: dict[str, float] = {}
    skipped = 0
    for key, operation in chosen.operations.items():
        if key[0] != function or _is_transparent(operation):
            continue
        dependence = forward.of(key)
        if dependence.backward:
            continue
        for name in chosen.outputs(key):
            visits, others = before.get(name, ()), after.get(name, ())
            first = len(visits) * min(dependence.share, Fraction(1, of))
            is_whole = first.denominator == 1 and first > 0
            same_often = len(visits) == len(others)
            change = _change(visits[: int(first) or 1], others, part) if same_often else None
            if change is not None and is_whole:
                changes[name] = change
            skipped += change is not None and not is_whole
    return changes, skipped


def unwritten_share(chosen: SelectedNodes, before: Visits, after: Visits) -> ReadShare:
    """Finds, with two runs on other inputs, the first visit at which a variable depends on the inputs,
    because the step wrote it."""

    def share(function: str, operation: Any) -> Fraction:
        name = chosen.name(function, operation.outputs[0])
        one, other = before.get(name, ()), after.get(name, ())
        for visit, (a, b) in enumerate(zip(one, other, strict=False)):
            if not np.array_equal(a, b, equal_nan=is_float(a)):
                return Fraction(visit, len(one))
        return Fraction(1)

    return share


def _is_transparent(operation: Any) -> bool:
    """Whether it reads variables, reverses a sequence (which mixes no samples), or calls functions (whose
    nodes are checked one by one)."""
    return operation.type in (READ, *_REVERSALS) or any(True for _ in callees(operation.node_def))


def _change(before: Sequence[Array], after: Sequence[Array], part: UnaffectedPart) -> float | None:
    """The worst change of the first visits; None if there is nothing to check."""
    if not before or not is_float(before[0]):
        return None
    worst = None
    for visit, (one, other) in enumerate(zip(before, after, strict=False)):
        place = visit, len(before)
        part_before = part(one, *place)
        part_after = part(other, *place) if one.shape == other.shape else None
        if part_before is None or part_after is None or not part_before.size:
            continue
        worst = max(worst or 0.0, relative_change(part_before, part_after))
    return worst


def relative_change(before: Array, after: Array) -> float:
    """The largest change of a number, in units of the largest that no mask put there; 0 if it is rounding."""
    a, b = before.astype(np.float64), after.astype(np.float64)
    finite = np.isfinite(a) & np.isfinite(b)
    if not np.array_equal(a[~finite], b[~finite], equal_nan=True):
        return float("inf")
    size, difference = np.abs(a[finite]), np.abs(a[finite] - b[finite])
    eps = float(ml_dtypes.finfo(before.dtype).eps)  # type: ignore[no-untyped-call]
    rounding = min(_ULPS * eps, _MOST_ROUNDING)
    # Beside the large numbers of a mask, any change of the others would look like rounding. Where no mask
    # has, the rest is hardly ever much smaller than half of the largest.
    mask = max(MASK, float(np.max(size, initial=0.0)) / 2)
    others = (size < mask) | (difference > rounding * size)
    scale, change = (float(np.max(each[others], initial=0.0)) for each in (size, difference))
    return 0.0 if change <= rounding * scale else change / (scale or 1.0)


class _UpstreamSearch:
    """Goes upstream from a tensor to the nearest ones that were checked."""

    def __init__(self, chosen: SelectedNodes, changes: Mapping[str, float]) -> None:
        self._chosen, self._changes = chosen, changes
        self._keys = {name: key for key in chosen.operations for name in chosen.outputs(key)}
        self._known: dict[str, bool] = {}

    def has_leaking_input(self, name: str) -> bool:
        """Whether a leaking tensor leads to this one through tensors that were not checked."""
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
