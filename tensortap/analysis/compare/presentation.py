"""How a comparison is shown everywhere: its headline, and which tensors are listed in which order."""

from __future__ import annotations

import math
from collections.abc import Iterable

from tensortap.core.text import counted, natural_key, number_text, with_facts

from .comparison_records import Comparison, FirstDivergence, TensorDifference
from .metrics.distances import LARGEST_DISTANCE, LOWER_IS_WORSE, METRICS, OF_FINITE
from .propagation.difference_flow import DIFFERENCE_VERDICTS

_EXPLAINED = ("noise", "same")
BOUNDED = ("summaries", "sample")  # of these the distances are lower bounds
SORTS = ("order", "verdict", "tensor", *METRICS)


def beyond_rounding(compared: Comparison) -> int:
    """How many tensors differ by more than rounding explains."""
    counts = compared.counts
    return counts["diverges"] + counts["amplified"] + counts["inherited"]


def headline(compared: Comparison) -> str:
    """`A and B differ: 2 of 3 tensors (1 equal, 0 within rounding).`, or that both agree."""
    counts = compared.counts
    total = sum(counts.values())
    equal = f"{counts['same']:,} equal, {counts['noise']:,} within rounding"
    if compared.differ:
        several = f" The {compared.steps - 1} earlier steps agree."
        before = {1: "", 2: " The previous step agrees."}.get(compared.steps, several)
        return (
            f"A and B differ: {beyond_rounding(compared):,} of {counted(total, 'tensor')} ({equal}).{before}"
        )
    if not total:
        return "There was nothing to compare."
    steps = f" at all {compared.steps} steps" if compared.steps > 1 else ""
    return f"A and B agree{steps}: {equal}, of {counted(total, 'tensor')}."


def divergence_title(first: FirstDivergence) -> str:
    """`First divergence: net/Relu:0 (Relu, iteration 2)`, without a full stop."""
    entry = first.difference
    iteration = f"iteration {entry.visit}" if entry.visits > 1 else ""
    place = with_facts(entry.tensor, entry.op_type, iteration)
    if first.variable:
        place = f"the variable {first.variable}, {place}"
    if first.extra:
        place = f"{first.extra}; first shared tensor: {place}"
    return f"First divergence: {place}"


def distance_text(entry: TensorDifference) -> str:
    """How far apart a tensor's two sides are, and how much of that rounding explains."""
    metrics = entry.metrics
    bound = "at least " if entry.basis in BOUNDED else ""
    if entry.verdict == "same":
        return {"values": "equal", "sample": "equal sample and summaries"}.get(entry.basis, "equal summaries")
    if entry.basis == "shapes":
        return f"{list(entry.shape_a)} in A, {list(entry.shape_b)} in B"
    if metrics.nonfinite_mismatches:
        return f"{bound}NaN/Inf differs in {counted(metrics.nonfinite_mismatches, 'element')}"
    if math.isnan(metrics.max_abs):
        return f"{entry.verdict}, {entry.basis}"
    apart = f"max |A-B| = {bound}{number_text(metrics.max_abs)}"
    rounding = (
        f"rounding explains {number_text(entry.limit)}" if entry.limit else "rounding cannot explain it"
    )
    ulp = "" if math.isnan(metrics.max_ulp) else f"; up to {metrics.max_ulp:,.0f} ULP"
    relative = f"{number_text(metrics.relative)} of max |x| = {number_text(metrics.scale)}"
    return f"{apart}, {relative} ({rounding}){ulp}"


def sorted_tensors(tensors: Iterable[TensorDifference], by: str) -> list[TensorDifference]:
    """Sorts by data flow (`order`), `verdict`, `tensor`, or a metric, worst first. Distances sort NaN and
    infinity mismatches before all others.

    Raises:
        ValueError: `by` is not one of these.
    """
    if by not in SORTS:
        raise ValueError(f"{by!r} is not one of {', '.join(SORTS)}")
    if by == "order":
        return list(tensors)
    if by == "verdict":
        return sorted(tensors, key=lambda entry: DIFFERENCE_VERDICTS.index(entry.verdict))
    if by == "tensor":
        return sorted(tensors, key=lambda entry: natural_key(entry.tensor))
    sign = 1 if by in LOWER_IS_WORSE else -1

    def worst(entry: TensorDifference) -> tuple[int, bool, float]:
        value = float(getattr(entry.metrics, by))
        apart = entry.metrics.nonfinite_mismatches if by in OF_FINITE else 0
        return (
            -(apart if by in LARGEST_DISTANCE else min(apart, 1)),
            math.isnan(value),
            0.0 if math.isnan(value) else sign * value,
        )

    return sorted(tensors, key=worst)


def listed_tensors(
    compared: Comparison, by: str, limit: int, *, everything: bool = False
) -> tuple[list[TensorDifference], int]:
    """(the tensors that are listed, how many more would be without a limit).

    Differences within rounding are skipped if others exceed it, and equal tensors always, unless `everything`
    is set. The first divergence is listed whatever the limit: on top, if it is beyond.

    Raises:
        ValueError: see `sorted_tensors`.
    """
    hidden = _EXPLAINED if compared.differ else _EXPLAINED[1:]
    tensors = sorted_tensors(compared.tensors, by)
    first = None if compared.first is None else compared.first.difference
    shown = [entry for entry in tensors if everything or entry is first or entry.verdict not in hidden]
    rows = shown[:limit]
    if limit and any(entry is first for entry in shown[limit:]):
        rows = [entry for entry in shown if entry is first] + rows[: limit - 1]
    return rows, len(shown) - len(rows)
