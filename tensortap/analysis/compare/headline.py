"""Whether two runs agree, in a sentence: the same in a terminal, in a report and on the page."""

from __future__ import annotations

from tensortap.core.text import counted

from .model import Comparison


def beyond_rounding(compared: Comparison) -> int:
    """How many tensors differ by more than rounding explains."""
    counts = compared.counts
    return counts["diverges"] + counts["amplified"] + counts["inherited"]


def headline(compared: Comparison) -> str:
    """`They differ: 2 of 3 tensors (1 equal, 0 apart by rounding).`, or that they agree."""
    counts = compared.counts
    total = sum(counts.values())
    equal = f"{counts['same']:,} equal, {counts['noise']:,} apart by rounding"
    if compared.differ:
        before = f" The {counted(compared.steps - 1, 'step')} before agree." if compared.steps > 1 else ""
        return f"They differ: {beyond_rounding(compared):,} of {counted(total, 'tensor')} ({equal}).{before}"
    if not total:
        return "Nothing could be compared."
    steps = f" at all {compared.steps} steps" if compared.steps > 1 else ""
    return f"They agree{steps}: {equal}, of {counted(total, 'tensor')}."
