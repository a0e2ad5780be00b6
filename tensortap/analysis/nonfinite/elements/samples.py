"""Which sample of the data a row of the batch is."""

from __future__ import annotations

from ..step_tensors import StepTensors


def sample_of(tensors: StepTensors, row: int | None) -> str | None:
    """The id (or file) of the sample in a row of the batch of a step; None where the run does not say, or the
    worker was fed several batches in that step."""
    batches = tensors.run.events.batches(tensors.step)
    mine = [batch for batch in batches if tensors.worker in ("", batch.worker)]
    if row is None or len(mine) != 1:
        return None
    names = mine[0].ids or mine[0].files or []
    return names[row] if 0 <= row < len(names) else None
