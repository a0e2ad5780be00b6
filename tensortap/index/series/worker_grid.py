"""One tensor on all workers of a job: a statistic by worker and step, and who leaves the others."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tensortap.core.dtypes import Floats, Ints
from tensortap.core.errors import NotFoundError, SelectionError
from tensortap.core.records import INTEGERS, STATISTICS

from ..query.step_range import parse_steps
from ..query.tensor_lookup import tensor_rows
from ..run_index import RunIndex
from .trends import thin

GRID_STATISTICS = (*STATISTICS, *INTEGERS)
_TOLERANCE = 1e-12  # of the median, as of the rule ReplicaDrift: kernels add in different orders


@dataclass(frozen=True, slots=True)
class WorkerGrid:
    """A statistic of one tensor by worker and step.

    Attributes:
        step: int64 [steps], ascending. thinned_from: number of steps before thinning, if any were skipped.
        worker, rank: [workers], ids and ranks (None: unknown).
        value: float64 [workers, steps], of a step's first iteration; NaN where nothing was captured, too.
        low, median, high: float64 [steps], over the workers; NaN where all are NaN.
        differing: int64 [workers], at how many steps the worker differs from the median. first_differing:
            int64 [workers], the first of these steps, -1 where there is none. Workers that differ at the
            fewest steps, but at some, come first: one that leaves the others says more than activations,
            which differ everywhere.
    """

    tensor: str
    graph: str
    step: Ints
    thinned_from: int | None
    worker: list[str]
    rank: list[int | None]
    value: Floats
    low: Floats
    median: Floats
    high: Floats
    differing: Ints
    first_differing: Ints


def worker_grid(
    run: RunIndex,
    tensor: str,
    statistic: str = "mean",
    *,
    graph: str | None = None,
    steps: object = None,
    limit: int | None = 200,
) -> WorkerGrid:
    """A statistic of one tensor on each worker at each step.

    Args:
        graph, steps: as in `history`.
        limit: at most so many steps, evenly thinned; the first and last stay. Differences are looked for at
            all of them.

    Raises:
        NotFoundError: no such tensor or graph. SelectionError: a bad range or statistic.
    """
    if statistic not in GRID_STATISTICS:
        raise SelectionError(f"{statistic!r:.80} is not a statistic.", f"Use {', '.join(GRID_STATISTICS)}.")
    catalog = run.catalog
    code, rows = tensor_rows(catalog, tensor, graph, parse_steps(steps), None)
    if not len(rows):
        raise NotFoundError(f"{tensor!r:.200} was not captured at these steps.", "Use other steps.")
    step, visit, worker = (catalog.column(name, rows) for name in ("step", "visit", "worker"))
    all_steps, column = np.unique(step, return_inverse=True)
    codes, line = np.unique(worker, return_inverse=True)
    order = np.lexsort((-np.arange(len(rows)), -visit.astype(np.int64)))  # the first iteration comes last
    value = np.full((len(codes), len(all_steps)), np.nan)
    value[line[order], column[order]] = catalog.column(statistic, rows)[order]
    captured = np.zeros(value.shape, np.bool_)
    captured[line, column] = True
    low, median, high = _over_workers(value)
    with np.errstate(invalid="ignore"):
        near = np.abs(value - median) <= _TOLERANCE * np.abs(median)
    same = near | (value == median) | (np.isnan(value) & (np.isnan(median) | ~captured))
    differs = ~same
    differing = np.count_nonzero(differs, axis=1)
    first = np.where(differing > 0, all_steps[np.argmax(differs, axis=1)], -1)
    with np.errstate(invalid="ignore"):
        apart = np.nanmax(np.where(differs, np.abs(value - median), 0.0), axis=1, initial=0.0)
    worst = np.lexsort((codes, -apart, np.where(differing > 0, differing, len(all_steps) + 1)))
    shown = np.array(thin(len(all_steps), limit))
    ranks = {known.id: known.rank for known in run.workers}
    names = [catalog.workers[each] for each in codes[worst].tolist()]
    return WorkerGrid(
        tensor=catalog.tensors.names[code],
        graph=catalog.tensors.graph_of(code),
        step=all_steps[shown],
        thinned_from=len(all_steps) if len(shown) < len(all_steps) else None,
        worker=names,
        rank=[ranks.get(name) for name in names],
        value=value[worst][:, shown],
        low=low[shown],
        median=median[shown],
        high=high[shown],
        differing=differing[worst],
        first_differing=first[worst],
    )


def _over_workers(value: Floats) -> tuple[Floats, Floats, Floats]:
    """Minimum, median and maximum of each column, of what is not NaN. The median is the lower of two middle
    values: some worker holds it."""
    ordered = np.sort(value, axis=0)  # NaN last
    count = np.count_nonzero(~np.isnan(value), axis=0)
    columns = np.arange(value.shape[1])
    low, middle, high = (
        ordered[np.clip(place, 0, None), columns] for place in (0 * count, (count - 1) // 2, count - 1)
    )
    return low, middle, high
