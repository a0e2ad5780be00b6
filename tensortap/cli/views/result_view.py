"""Whether a step's results are those that were recorded, in words."""

from __future__ import annotations

from tensortap.core.text import counted


def results_text(outputs: int, variables: int) -> str:
    """How many were compared, of outputs, variables or both; empty if there are neither."""
    counts = ((outputs, "output"), (variables, "variable"))
    return " and ".join(counted(number, noun) for number, noun in counts if number)


def distance_text(ulp: int | None) -> str:
    """How far a result is from the recorded one; empty where that is not known."""
    if ulp is None:
        return ""
    return f", by up to {ulp:,} ULP of its largest number" if ulp else ", by signs of 0 or payloads of NaN"


def untapped_text(as_recorded: bool) -> str:
    """Why results differ where tensors are tapped. `as_recorded`: whether without that none does."""
    if as_recorded:
        return (
            "Only as tensors are tapped: without, all results are bit-identical. TensorFlow merges nodes into"
            " one kernel where nobody reads what is between them; apart, they may round last bits otherwise."
        )
    return "Not only as tensors are tapped: without, results differ, too."
