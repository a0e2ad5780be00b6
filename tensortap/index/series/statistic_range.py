"""Between which numbers a statistic of a graph lies over all steps: what one colour scale of them spans."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tensortap.core.dtypes import Array
from tensortap.core.errors import SelectionError

from ..query.tensor_lookup import worker_code
from ..run_index import RunIndex
from .snapshot_values import TIMELINE_STATISTICS, values_of

_NEVER_NEGATIVE = ("std", "abs_max", "l2")
_LOW_PART, _HIGH_PART = 0.01, 0.99


@dataclass(frozen=True, slots=True)
class StatisticRange:
    """Of a statistic's finite values; of `std`, `abs_max` and `l2`, which span magnitudes, of those above
    0. NaN where there is none.

    Attributes:
        least, largest: of all. low, high: without the least and the largest hundredth.
        zeros: whether there were values of exactly 0.
    """

    least: float
    low: float
    high: float
    largest: float
    zeros: bool


def statistic_range(
    run: RunIndex, graph_id: str, statistic: str, *, worker: str | None = None
) -> StatisticRange:
    """The range of a statistic over all snapshots of a graph.

    Each tensor counts alike, however often it was captured: visits of a loop do not outvote the rest.

    Args:
        statistic: one of `TIMELINE_STATISTICS`. worker: only this worker's snapshots.

    Raises:
        NotFoundError: no such graph or worker. SelectionError: no such statistic.
    """
    if statistic not in TIMELINE_STATISTICS:
        raise SelectionError(
            f"There is no range of {statistic[:80]!r}.", f"Use one of {', '.join(TIMELINE_STATISTICS)}."
        )
    run.graph(graph_id)
    catalog = run.catalog
    rows = np.flatnonzero(
        np.isin(catalog.column("tensor", slice(0, catalog.rows)), catalog.tensors.in_graph(graph_id))
    )
    if worker is not None:
        rows = rows[catalog.column("worker", rows) == worker_code(catalog, worker)]
    values = values_of(catalog, rows, statistic)
    zeros = bool((values == 0).any())
    counts = values > 0 if statistic in _NEVER_NEGATIVE else np.ones(len(values), np.bool_)
    counts &= np.isfinite(values)
    return StatisticRange(*_ends(values[counts], catalog.column("tensor", rows)[counts]), zeros)


def _ends(values: Array, tensor: Array) -> tuple[float, float, float, float]:
    if not len(values):
        return (float("nan"),) * 4
    order = np.argsort(values)
    weight = np.cumsum(1 / np.bincount(tensor)[tensor[order]])  # 1 for each tensor, shared by its snapshots
    at = np.searchsorted(weight, weight[-1] * np.array([0, _LOW_PART, _HIGH_PART, 1]))
    least, low, high, largest = values[order[np.minimum(at, len(values) - 1)]].tolist()
    return least, low, high, largest
