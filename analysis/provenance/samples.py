"""Which sample of the data a row of the batch is."""

from __future__ import annotations

from .step import StepTensors


def sample_of(tensors: StepTensors, row: int | None) -> str | None:
    """The id of the sample in a row of the batch of a step; None where the run does not say."""
    find = getattr(tensors.run, "batch", None)  # runs of this version do not say yet
    batch = None if find is None or row is None else find(tensors.step)
    ids = getattr(batch, "ids", None)
    return str(ids[row]) if ids is not None and row is not None and row < len(ids) else None
