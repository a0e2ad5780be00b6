"""Trends: how one statistic of a tensor moves over the steps, in a few numbers, for many tensors at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tensortap.core.dtypes import Array, Ints
from tensortap.core.errors import SelectionError

from ..catalog.catalog import Catalog
from ..catalog.decode import STATISTICS_COLUMNS
from ..run_index import RunIndex
from ..snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class Trend:
    """Places along the steps of one tensor of one graph, ascending, from the first to the last one captured.

    Attributes:
        step: int64 [places]. value: the statistic at that step, float64 [places].
        bad: whether a snapshot since the place before held a NaN or an infinity, bool [places].
    """

    step: Array
    value: Array
    bad: Array


def trends(
    run: RunIndex, found: Sequence[Snapshot], statistic: str, *, worker: str | None = None, places: int = 32
) -> list[Trend]:
    """The trend of each snapshot's tensor.

    Args:
        statistic: one of `STATISTICS_COLUMNS`.
        worker: only this worker's snapshots.
        places: at most so many a tensor, evenly spread.

    Raises:
        SelectionError: there is no such statistic.
    """
    if statistic not in STATISTICS_COLUMNS:
        known = ", ".join(STATISTICS_COLUMNS)
        raise SelectionError(f"{statistic[:80]!r} is not a statistic.", f"Use one of {known}.")
    catalog = run.catalog
    codes = catalog.column("tensor", np.array([snapshot.row for snapshot in found], np.int64)).tolist()
    distinct = sorted(set(codes))
    lines = dict(zip(distinct, _lines(catalog, distinct, statistic, worker, places), strict=True))
    return [lines[code] for code in codes]


def thin(count: int, limit: int | None) -> Ints:
    """At most `limit` of the positions 0 … count - 1, evenly spread, first and last among them (of one: the
    last)."""
    if limit is None or count <= limit:
        return np.arange(count)
    if limit <= 1:
        return np.arange(count)[count - max(limit, 0) :]
    return np.round(np.linspace(0, count - 1, limit)).astype(np.int64)


def _lines(
    catalog: Catalog, codes: Sequence[int], statistic: str, worker: str | None, places: int
) -> list[Trend]:
    """The trend of each tensor. Columns are looked up for all at once: lookups cost more than rows."""
    rows = [_rows(catalog, code, worker) for code in codes]
    step = _split(catalog.column("step", np.concatenate([np.zeros(0, np.int64), *rows])), rows)
    by_step = [np.argsort(steps, kind="stable") for steps in step]
    rows = [each[order] for each, order in zip(rows, by_step, strict=True)]
    at = [thin(len(each), places) for each in rows]
    chosen = [each[places] for each, places in zip(rows, at, strict=True)]
    value = _split(catalog.column(statistic, np.concatenate([np.zeros(0, np.int64), *chosen])), chosen)
    steps = [each[order][places] for each, order, places in zip(step, by_step, at, strict=True)]
    return [
        Trend(steps[i].astype(np.int64), value[i].astype(np.float64), _bad(catalog, code, rows[i], at[i]))
        for i, code in enumerate(codes)
    ]


def _rows(catalog: Catalog, code: int, worker: str | None) -> Array:
    rows = catalog.rows_of_tensor(code)
    if worker is None:
        return rows
    known = catalog.workers.code(worker)
    of_worker: Array = rows[catalog.column("worker", rows) == (-1 if known is None else known)]
    return of_worker


def _split(values: Array, like: Sequence[Array]) -> list[Array]:
    """The parts of `values` that are as long as the arrays of `like`."""
    return np.split(values, np.cumsum([len(each) for each in like])[:-1]) if like else []


def _bad(catalog: Catalog, code: int, rows: Array, at: Array) -> Array:
    """Whether there is a NaN or infinity in the rows up to each place, from behind the place before."""
    if not catalog.tensors.nonfinite.of(code) or not len(at):
        return np.zeros(len(at), np.bool_)
    counts = [catalog.column(name, rows) > 0 for name in ("nan", "pos_inf", "neg_inf")]
    until = np.concatenate(([0], np.cumsum(np.logical_or.reduce(counts))[at]))
    found: Array = np.diff(until) > 0
    return found
