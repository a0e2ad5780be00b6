"""Histograms: one tensor's over steps, all on the same edges; many tensors' at one step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from tensortap.core.dtypes import Array, Floats, Ints, Mask
from tensortap.core.errors import NotFoundError, SelectionError
from tensortap.core.names import tensor_name
from tensortap.stats.merge import group_starts

from ..catalog.catalog import Catalog
from ..catalog.commit_cache import CommitCache, read_histograms
from ..query.step_range import parse_steps
from ..query.tensor_lookup import tensor_rows, worker_code
from ..run_index import RunIndex
from ..snapshot import Snapshot
from ..unknown_counts import unknown_counts
from .histogram_bins import (
    DENSE,
    ZERO,
    Binned,
    dense_column,
    dense_edges,
    known_ends,
    linear_bins,
    native_bins,
)
from .statistic_values import thin

MAX_BINS = 4096
Scale = Literal["symlog", "linear"]


@dataclass(frozen=True, slots=True)
class HistogramSeries:
    """Histograms, ordered by step, visit, worker.

    `edges`: float64 [n + 1], ascending. `counts`: [rows, n], int64, or float64 where they are `approximate`.
    `zero_bucket`: the column with the exact zeros, None if there is none. With visits merged, `visit` is each
    row's first visit. `min` and `max` are NaN where no element is finite. `thinned_from`: how many rows there
    were, if some were skipped. `nan`, `pos_inf`, `neg_inf`, `zero` are masked if unknown.
    """

    tensor: str
    graph: str
    edges: Floats
    zero_bucket: int | None
    approximate: bool
    thinned_from: int | None
    step: Ints
    visit: Ints
    worker: list[str]
    counts: Array
    nan: Ints
    pos_inf: Ints
    neg_inf: Ints
    zero: Ints
    min: Floats
    max: Floats


def histograms(
    run: RunIndex,
    tensor: str,
    *,
    graph: str | None = None,
    worker: str | None = None,
    steps: object = None,
    visit: int | None = None,
    scale: Scale = "symlog",
    bins: int = 60,
    low: float | None = None,
    high: float | None = None,
    limit: int | None = 100,
    merge_visits: bool = False,
) -> HistogramSeries:
    """The histograms of one tensor.

    Args:
        graph, worker, steps: as in `history`. visit: only this one of each step.
        scale: `symlog`: the native buckets, exact; `linear`: `bins` equal bins between `low` and `high` (by
            default the finite range of all rows), into which native buckets are spread evenly. Over the
            whole range, a bin of an integer tensor has 1, 2, … whole integers, so there may be fewer bins.
        limit: maximum number of rows, evenly thinned; the first and last stay.
        merge_visits: adds up the visits of each step (workers stay apart).

    Raises:
        NotFoundError: no such tensor, graph or worker. SelectionError: a bad range, scale or number of bins.
        DamagedError: a commit cannot be read any more.
    """
    _check(scale, bins, low, high)
    catalog = run.catalog
    code, rows = tensor_rows(catalog, tensor, graph, parse_steps(steps), worker)
    if visit is not None:
        rows = rows[catalog.column("visit", rows) == visit]
    groups: Sequence[Array] | Array = _groups(catalog, rows) if merge_visits else rows[:, None]
    kept = [groups[i] for i in thin(len(groups), limit)]
    thinned = len(groups) if len(kept) < len(groups) else None
    series = _Series(catalog, run.commits, kept)
    binned = series.native() if scale == "symlog" else series.linear(bins, low, high)
    heads = np.array([group[0] for group in kept], np.int64)
    return HistogramSeries(
        tensor=catalog.tensors.names[code],
        graph=catalog.tensors.graph_of(code),
        edges=binned.edges,
        zero_bucket=binned.zero_bucket,
        approximate=scale == "linear",
        thinned_from=thinned,
        step=catalog.column("step", heads),
        visit=catalog.column("visit", heads).astype(np.int64),
        worker=[catalog.workers[worker] for worker in catalog.column("worker", heads).tolist()],
        counts=binned.counts,
        min=series.min,
        max=series.max,
        **{name: series.counted(name) for name in ("nan", "pos_inf", "neg_inf", "zero")},
    )


def snapshot_histograms(run: RunIndex, found: Sequence[Snapshot]) -> list[Binned]:
    """The histogram of each snapshot on its own native buckets: one row of counts.

    Raises:
        DamagedError: a commit cannot be read any more.
    """
    rows = [np.array([snapshot.row], np.int64) for snapshot in found]
    return _Series(run.catalog, run.commits, rows).each_native()


@dataclass(frozen=True, slots=True)
class SmallHistograms:
    """Histograms of several tensors at one step, each over its own range; tensors not captured at that step
    are skipped.

    `node`, `slot`: the tensor, int32. `low`, `high`: the range of at least 99 % of its values, float64.
    `counts`: [tensors, bins], float64.
    """

    node: Array
    slot: Array
    low: Floats
    high: Floats
    counts: Floats


_WIDTH = 3.5  # standard deviations around the mean: a few outliers do not squeeze all else into one bin
_OUTLIERS = 0.01  # of the values that are not 0: more are none


def step_histograms(
    run: RunIndex,
    graph_id: str,
    step: int,
    tensors: Sequence[tuple[int, int]],
    *,
    bins: int = 24,
    worker: str | None = None,
) -> SmallHistograms:
    """Histograms of many tensors at once, visits and workers merged.

    Args:
        tensors: row of the node in the graph, and output slot.

    Raises:
        NotFoundError: no such graph, worker or step. SelectionError: no such node.
    """
    graph, catalog = run.graph(graph_id), run.catalog
    wrong = next((row for row, _ in tensors if row >= len(graph)), None)
    if wrong is not None:
        raise SelectionError(f"The graph has no node {wrong}.", f"Rows range from 0 to {len(graph) - 1}.")
    code = catalog.steps.code(step)
    if code is None:
        raise NotFoundError(f"The run has no snapshot at step {step}.", "List the run's steps.")
    rows = catalog.rows_of_step(code)
    if worker is not None:
        rows = rows[catalog.column("worker", rows) == worker_code(catalog, worker)]
    of_row = catalog.column("tensor", rows)
    order = np.argsort(of_row, kind="stable")
    rows, of_row = rows[order], of_row[order]
    asked, groups = [], []
    for node, slot in tensors:
        found = catalog.tensors.named(tensor_name(graph.names[node], slot))
        inside = [tensor for tensor in found if catalog.tensors.graph_of(tensor) == graph_id]
        if not inside:
            continue
        first, end = np.searchsorted(of_row, [inside[0], inside[0] + 1])
        if first < end:
            asked.append((node, slot))
            groups.append(rows[first:end])
    low, high, counts = _Series(catalog, run.commits, groups).small(bins)
    places = np.array(asked, np.int32).reshape(-1, 2)
    return SmallHistograms(places[:, 0], places[:, 1], low, high, counts)


def _check(scale: str, bins: int, low: float | None, high: float | None) -> None:
    if scale not in ("symlog", "linear"):
        raise SelectionError(f"{scale!r} is not a scale.", "Use 'symlog' or 'linear'.")
    if not 1 <= bins <= MAX_BINS:
        raise SelectionError(f"{bins} is not a valid number of bins.", f"Use 1 to {MAX_BINS}.")
    bounds = [bound for bound in (low, high) if bound is not None]
    if not np.isfinite(bounds).all() or (len(bounds) == 2 and not bounds[0] < bounds[1]):
        raise SelectionError(
            "The range of a histogram must be finite, with low below high.", "Change 'low' and 'high'."
        )


def _groups(catalog: Catalog, rows: Array) -> list[Array]:
    """Rows by step and worker, in order of the first visit."""
    step, worker = catalog.column("step", rows), catalog.column("worker", rows)
    order = np.lexsort((np.arange(len(rows)), worker, step))
    keys = step[order] * (int(worker.max(initial=0)) + 1) + worker[order]
    return np.split(rows[order], group_starts(keys)[1:]) if len(rows) else []


class _Series:
    """The dense histograms of groups of rows."""

    def __init__(self, catalog: Catalog, cache: CommitCache, groups: list[Array]) -> None:
        self._catalog = catalog
        self._rows = np.concatenate(groups) if groups else np.zeros(0, np.int64)
        lengths = np.array([len(group) for group in groups], np.int64)
        self._starts = np.cumsum(lengths) - lengths
        self.min = self._extreme("min", np.fmin)
        self.max = self._extreme("max", np.fmax)
        self._dense = np.zeros((len(groups), DENSE), np.int64)
        self._dense[:, ZERO] = self.total("zero")
        group_of = np.repeat(np.arange(len(groups)), lengths)
        found = read_histograms(catalog, cache, self._rows)
        if found:
            sizes = [len(ids) for ids, _ in found]
            columns = dense_column(np.concatenate([ids for ids, _ in found]))
            counts = np.concatenate([counts for _, counts in found]).astype(np.int64, copy=False)
            cells = np.repeat(group_of, sizes), columns
            if len(groups) == len(self._rows):  # a row has each bucket once
                self._dense[cells] += counts
            else:
                np.add.at(self._dense, cells, counts)
        self._lows, self._highs = known_ends(self._dense, self.min, self.max)

    def total(self, name: str) -> Ints:
        """The sum of a count over each group."""
        return self._reduce(np.add, self._catalog.column(name, self._rows).astype(np.int64))

    def counted(self, name: str) -> Ints:
        """The counts, masked where a snapshot does not have them."""
        unknown = unknown_counts(self._catalog, self._rows).get(name)
        total = self.total(name)
        if unknown is None:
            return total
        hidden = self._reduce(np.logical_or, unknown) & (total == 0)
        return np.ma.masked_array(total, hidden)

    def _extreme(self, name: str, function: np.ufunc) -> Array:
        return self._reduce(function, self._catalog.column(name, self._rows))

    def _reduce(self, function: np.ufunc, values: Array) -> Array:
        reduced: Array = function.reduceat(values, self._starts) if len(values) else values
        return reduced

    def native(self) -> Binned:
        """Bin all groups on the native buckets."""
        return native_bins(self._dense, *self._range())

    def each_native(self) -> list[Binned]:
        """Bin each group on the native buckets that it uses."""
        ends = zip(np.nan_to_num(self._lows).tolist(), np.nan_to_num(self._highs).tolist(), strict=True)
        return [native_bins(self._dense[i : i + 1], low, high) for i, (low, high) in enumerate(ends)]

    def linear(self, bins: int, low: float | None, high: float | None) -> Binned:
        """Bin all groups on equal bins."""
        least, most = self._range()
        integers = bool(self._integers().all()) and len(self._dense) > 0
        if integers and low is None and high is None:
            count = most - least + 1
            each = np.ceil(count / bins)  # else some bins have an integer more than others
            edges = least - 0.5 + each * np.arange(np.ceil(count / each) + 1)
            return linear_bins(self._dense, self._lows, self._highs, edges, integers=True)
        low = min(least, most if high is None else high) if low is None else low
        high = max(most, low) if high is None else high
        if not low < high:  # all values are equal, or none is in the requested range
            low, high = low - max(abs(low) * 0.05, 0.5), high + max(abs(high) * 0.05, 0.5)
        share = np.arange(bins + 1) / bins
        edges = np.maximum.accumulate(low * (1 - share) + high * share)  # high - low might be beyond float64
        return linear_bins(self._dense, self._lows, self._highs, edges, integers=integers)

    def small(self, bins: int) -> tuple[Floats, Floats, Floats]:
        """Lowest and highest edge of each row, and its counts in `bins` equal bins between them."""
        mean, std = (self._extreme(name, np.fmax).astype(np.float64) for name in ("mean", "std"))
        with np.errstate(invalid="ignore", over="ignore"):
            low = np.fmax(self._lows, mean - _WIDTH * std)
            high = np.fmin(self._highs, mean + _WIDTH * std)
        integers = self._integers()
        low[integers], high[integers] = np.ceil(low[integers]), np.floor(high[integers])
        left, right = dense_edges()
        for group in range(len(low)):
            below = np.maximum(left, self._lows[group]) < low[group]
            above = np.minimum(right, self._highs[group]) > high[group]
            values = self._dense[group].sum() - self._dense[group, ZERO]
            if self._dense[group, below | above].sum() > _OUTLIERS * values:
                low[group], high[group] = self._lows[group], self._highs[group]
        counts = np.zeros((len(low), bins))
        for row in np.flatnonzero(np.isfinite(low) & np.isfinite(high)):
            if not low[row] < high[row]:
                counts[row, bins // 2] = self._dense[row].sum()
                continue
            share = np.arange(bins + 1) / bins
            margin = 0.5 * integers[row]
            edges = np.maximum.accumulate((low[row] - margin) * (1 - share) + (high[row] + margin) * share)
            one = slice(row, row + 1)
            ends = self._lows[one], self._highs[one]
            counts[row] = linear_bins(self._dense[one], *ends, edges, integers=bool(integers[row])).counts[0]
        return low, high, counts

    def _integers(self) -> Mask:
        """The groups of which all rows have an integer dtype, bool [groups]."""
        dtypes = self._catalog.dtypes.values
        known = np.array([name.startswith(("int", "uint", "bool")) for name in dtypes], np.bool_)
        rows = known[self._catalog.column("dtype", self._rows)]
        return self._reduce(np.logical_and, rows)

    def _range(self) -> tuple[float, float]:
        """The finite range of all rows, (0, 0) if there is none."""
        low, high = np.fmin.reduce(self._lows, initial=np.nan), np.fmax.reduce(self._highs, initial=np.nan)
        return (0.0, 0.0) if np.isnan(low) else (float(low), float(high))
