"""One tensor on all workers of a job: a statistic by worker and step, and the workers that deviate."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from tensortap.core.dtypes import Array, Floats, Ints
from tensortap.core.errors import NotFoundError, SelectionError
from tensortap.core.records import INTEGERS, STATISTICS

from ..catalog.catalog import Catalog
from ..query.step_range import StepRange, parse_steps
from ..query.tensor_lookup import function_of, in_order, select_rows, tensor_codes, tensor_rows
from ..run_index import RunIndex
from .statistic_values import SHARES, thin, values_of

GRID_STATISTICS = (*STATISTICS, *INTEGERS, *SHARES)
_TOLERANCE = 1e-12  # of the median, as of the rule ReplicaDrift: kernels add in different orders
_CELLS_AT_ONCE = 1 << 19  # some 50 MB


@dataclass(frozen=True, slots=True)
class WorkerGrid:
    """A statistic of one tensor by worker and step.

    Workers that differ at the fewest steps, but at some, come first: one that leaves the others says more
    than activations, which differ everywhere. Then come those that miss most steps.

    Attributes:
        step: int64 [steps], ascending. thinned_from: number of steps before thinning, if any were skipped.
        worker, rank: [workers], ids and ranks (None: unknown).
        value: float64 [workers, steps], of a step's first iteration; NaN where unknown or
            not captured, too.
        captured: bool [workers, steps].
        low, median, high: float64 [steps], over the workers; NaN where all are NaN. The median is the lower
            of two middle values: some worker holds it.
        differing: int64 [workers], at how many steps the worker differs from the median. first_differing:
            int64 [workers], the first of these steps, -1 where there is none.
        missing: int64 [workers], at how many steps only others captured the tensor.
    """

    tensor: str
    graph: str
    statistic: str
    step: Ints
    thinned_from: int | None
    worker: list[str]
    rank: list[int | None]
    value: Floats = field(repr=False)
    captured: Array = field(repr=False)
    low: Floats = field(repr=False)
    median: Floats = field(repr=False)
    high: Floats = field(repr=False)
    differing: Ints = field(repr=False)
    first_differing: Ints = field(repr=False)
    missing: Ints = field(repr=False)

    def __repr__(self) -> str:
        size = f"{len(self.worker):,} workers, {len(self.step):,} steps"
        return f"<{self.statistic} of {self.tensor!r}: {size}, {np.count_nonzero(self.differing):,} differ>"


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
        statistic: one of `GRID_STATISTICS`.
        graph: only of this graph, and of those that other workers traced of the same function: each worker's
            names its own devices.
        steps: as in `history`.
        limit: maximum number of steps, evenly thinned out; the first and last stay. All of them are compared.

    Raises:
        NotFoundError: no such tensor or graph. SelectionError: a bad range or statistic.
    """
    if statistic not in GRID_STATISTICS:
        raise SelectionError(f"{statistic!r:.80} is not a statistic.", f"Use {', '.join(GRID_STATISTICS)}.")
    catalog = run.catalog
    code, rows = _tensor_rows(catalog, tensor, graph, parse_steps(steps))
    if not len(rows):
        raise NotFoundError(f"{tensor!r:.200} was not captured at these steps.", "Choose other steps.")
    step = catalog.column("step", rows)
    by_step = np.argsort(step, kind="stable")
    rows, step = rows[by_step], step[by_step]
    all_steps, starts = np.unique(step, return_index=True)
    codes = np.unique(catalog.column("worker", rows))
    shown = thin(len(all_steps), limit)
    differing, first, apart, missing = np.zeros((4, len(codes)))
    first[:] = -1
    kept = []
    for some, value, captured in _blocks(catalog, statistic, rows, all_steps, starts, codes):
        low, median, high = _over_workers(value)
        differs = captured & ~_equal(value, median)
        first = np.where((first < 0) & differs.any(1), all_steps[some][np.argmax(differs, axis=1)], first)
        differing += np.count_nonzero(differs, axis=1)
        missing += np.count_nonzero(~captured, axis=1)
        with np.errstate(invalid="ignore"):
            far = np.nanmax(np.where(differs, np.abs(value - median), 0.0), axis=1, initial=0.0)
        apart = np.maximum(apart, far)
        at = shown[(shown >= some.start) & (shown < some.stop)] - some.start
        kept.append((value[:, at], captured[:, at], low[at], median[at], high[at]))
    value, captured, low, median, high = (np.concatenate(each, axis=-1) for each in zip(*kept, strict=True))
    fewest = np.where(differing > 0, differing, len(all_steps) + 1)
    names, ranks = _names_and_ranks(run, codes)
    by_rank = np.array([math.inf if rank is None else rank for rank in ranks])
    worst = np.lexsort((codes, by_rank, -missing, -apart, fewest))
    return WorkerGrid(
        tensor=catalog.tensors.names[code],
        graph=catalog.tensors.graph_of(code),
        statistic=statistic,
        step=all_steps[shown],
        thinned_from=len(all_steps) if len(shown) < len(all_steps) else None,
        worker=[names[at] for at in worst.tolist()],
        rank=[ranks[at] for at in worst.tolist()],
        value=value[worst],
        captured=captured[worst],
        low=low,
        median=median,
        high=high,
        differing=differing[worst].astype(np.int64),
        first_differing=first[worst].astype(np.int64),
        missing=missing[worst].astype(np.int64),
    )


def _tensor_rows(catalog: Catalog, tensor: str, graph: str | None, steps: StepRange) -> tuple[int, Array]:
    if graph is None:
        return tensor_rows(catalog, tensor, None, steps, None)
    (code,) = tensor_codes(catalog, tensor, graph)
    function = function_of(catalog.tensors.graph_of(code))
    alike = [
        each
        for each in tensor_codes(catalog, tensor)
        if function_of(catalog.tensors.graph_of(each)) == function
    ]
    rows = np.concatenate([catalog.rows_of_tensor(each) for each in alike])
    return code, in_order(catalog, select_rows(catalog, rows, steps, None))


def _names_and_ranks(run: RunIndex, codes: Ints) -> tuple[list[str], list[int | None]]:
    ranks = {known.id: known.rank for known in run.workers}
    names = [run.catalog.workers[code] for code in codes.tolist()]
    return names, [ranks.get(name) for name in names]


def _blocks(
    catalog: Catalog, statistic: str, rows: Array, steps: Ints, starts: Ints, codes: Ints
) -> Iterator[tuple[slice, Floats, Array]]:
    """Some steps at a time: which, and `value` and `captured` [workers, these steps].

    Args:
        rows: ordered by step; those of a step begin at its `starts`.
    """
    many = max(1, _CELLS_AT_ONCE // len(codes))
    for begin in range(0, len(steps), many):
        some = slice(begin, min(begin + many, len(steps)))
        last = starts[some.stop] if some.stop < len(steps) else len(rows)
        here = rows[starts[begin] : last]
        column = np.searchsorted(starts, np.arange(starts[begin], last), "right") - 1 - begin
        line = np.searchsorted(codes, catalog.column("worker", here))
        # the first iteration is assigned last
        order = np.lexsort((-np.arange(len(here)), -catalog.column("visit", here).astype(np.int64)))
        value = np.full((len(codes), some.stop - begin), np.nan)
        captured = np.zeros(value.shape, np.bool_)
        value[line[order], column[order]] = values_of(catalog, here, statistic)[order]
        captured[line, column] = True
        yield some, value, captured


def _equal(value: Floats, median: Floats) -> Array:
    with np.errstate(invalid="ignore"):
        near = np.abs(value - median) <= _TOLERANCE * np.abs(median)
    equal: Array = near | (value == median) | (np.isnan(value) & np.isnan(median))
    return equal


def _over_workers(value: Floats) -> tuple[Floats, Floats, Floats]:
    """Minimum, lower median and maximum of each column, without NaN."""
    ordered = np.sort(value, axis=0)  # NaN last
    count = np.count_nonzero(~np.isnan(value), axis=0)
    columns = np.arange(value.shape[1])
    low, middle, high = (
        ordered[np.clip(place, 0, None), columns] for place in (0 * count, (count - 1) // 2, count - 1)
    )
    return low, middle, high
