"""Loss, metrics and learning rate over the steps, as the program's training loop logged them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tensortap.core.dtypes import Floats

from ..run_events import StepLogs
from ..run_index import RunIndex
from .trends import thin


@dataclass(frozen=True, slots=True)
class TrainingLogs:
    """Logs of batches, ascending by step, and of the ends of epochs.

    Attributes:
        rows: of batches. names: of their values, in the order in which they first appeared.
        epochs: at their ends; their values hold those of the validation, too (`val_loss`).
        thinned_from: how many batches there were, if some were skipped.
    """

    rows: list[StepLogs]
    names: list[str]
    epochs: list[StepLogs]
    thinned_from: int | None

    def column(self, name: str) -> Floats:
        """The values of one name, NaN for batches without one."""
        return np.array([row.values.get(name, np.nan) for row in self.rows], np.float64)


def training_logs(run: RunIndex, *, phase: str = "train", limit: int = 1000) -> TrainingLogs:
    """The logs of a run.

    Args:
        phase: of batches of `train` (`fit`) or `test` (`evaluate`).
        limit: maximum number of batches, evenly thinned; the first, the last and the first non-finite one
            stay.
    """
    found = sorted((logs for logs in run.events.logs if logs.phase == phase), key=lambda logs: logs.step)
    kept = set(thin(len(found), limit).tolist())
    bad = next((i for i, logs in enumerate(found) if not np.isfinite(list(logs.values.values())).all()), None)
    if bad is not None:
        kept.add(bad)
    rows = [found[i] for i in sorted(kept)]
    names = list(dict.fromkeys(name for row in rows for name in row.values))
    epochs = [logs for logs in run.events.logs if logs.phase == "epoch"]
    return TrainingLogs(rows, names, epochs, len(found) if len(rows) < len(found) else None)
