"""Loss, metrics and learning rate over the steps: logged by the training loop, or a captured scalar."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tensortap.core.dtypes import Floats

from ..query.step_range import parse_steps
from ..query.tensor_lookup import tensor_rows
from ..run_events import StepLogs
from ..run_index import RunIndex
from .statistic_values import thin


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
    rows, thinned = _thinned(found, limit)
    names = list(dict.fromkeys(name for row in rows for name in row.values))
    return TrainingLogs(rows, names, [logs for logs in run.events.logs if logs.phase == "epoch"], thinned)


def scalar_logs(run: RunIndex, tensor: str, graph: str, *, limit: int = 1000) -> TrainingLogs:
    """The values of a captured scalar in the same form, such as the loss of a custom training loop.

    Each is the mean over the iterations and workers of a step, NaN if one of them is not finite.

    Raises:
        NotFoundError: as `tensor_rows`.
    """
    catalog = run.catalog
    _, rows = tensor_rows(catalog, tensor, graph, parse_steps(None), None)
    columns = {name: catalog.column(name, rows) for name in ("step", "mean", "nan", "pos_inf", "neg_inf")}
    steps, of_step = np.unique(columns["step"], return_inverse=True)
    bad = (columns["nan"] + columns["pos_inf"] + columns["neg_inf"]) > 0
    sums = np.bincount(of_step, np.where(bad, np.nan, columns["mean"].astype(np.float64)), len(steps))
    values = (sums / np.bincount(of_step, minlength=len(steps))).tolist()
    found = [
        StepLogs(step, "train", 0, {tensor: value})
        for step, value in zip(steps.tolist(), values, strict=True)
    ]
    kept, thinned = _thinned(found, limit)
    return TrainingLogs(kept, [tensor], [], thinned)


def _thinned(found: list[StepLogs], limit: int) -> tuple[list[StepLogs], int | None]:
    """At most `limit` rows and the first that is not finite; how many there were, if some were skipped."""
    kept = set(thin(len(found), limit).tolist())
    bad = next((i for i, logs in enumerate(found) if not np.isfinite(list(logs.values.values())).all()), None)
    if bad is not None:
        kept.add(bad)
    return [found[i] for i in sorted(kept)], len(found) if len(kept) < len(found) else None
