"""Snapshots by filter, sorted, a page at a time."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from tensortap.core.dtypes import Array, Mask
from tensortap.core.errors import LimitError
from tensortap.core.names import split_tensor_name, tensor_name

from ..run_index import RunIndex
from ..snapshot import Snapshot, snapshots_at
from .filter_columns import CatalogColumns, tensors_by_node
from .filter_expressions import match_names
from .filter_parser import parse_predicate
from .sorting import SortedRows, sort_rows
from .step_range import StepRange, parse_steps
from .tensor_lookup import tensor_codes, worker_code

# Of runs that are at hand: the rows that were sorted last, for the pages that follow.
_SORTED: WeakKeyDictionary[RunIndex, SortedRows] = WeakKeyDictionary()
MOST_SORTED = 1 << 20  # first rows of a sorted list, in a run that is sorted some rows at a time
_FEW_TENSORS = 64  # maximum number of single lookups; for more, the whole column is compared


@dataclass(frozen=True, slots=True)
class Filters:
    """A filter on snapshots; None does not restrict. `match` is searched in tensor names, `layer` is a
    prefix, `where` a condition on the statistics (see `parse_predicate`). `nonfinite`: with NaN or infinity,
    or (False) known to have none. `kept`: whether the value is available."""

    graph: str | None = None
    worker: str | None = None
    node: str | None = None
    tensor: str | None = None
    match: str | None = None
    op_type: str | None = None
    layer: str | None = None
    steps: object = None
    visit: int | None = None
    dtype: str | None = None
    nonfinite: bool | None = None
    kept: bool | None = None
    where: str | None = None


@dataclass(frozen=True, slots=True)
class SnapshotPage:
    """A page of `total` snapshots."""

    total: int
    rows: list[Snapshot]


def snapshots(
    run: RunIndex, *, sort: str = "step", limit: int = 100, offset: int = 0, **filters: Any
) -> SnapshotPage:
    """One page of the snapshots that fit.

    Args:
        sort: a column of `SORT_COLUMNS`, with `-` in front for descending; texts in natural order (`a_2`
            before `a_10`), equal ones in the order of capture (of a large compacted run: by step first),
            NaN last.
        limit, offset: which part of the sorted snapshots.
        filters: the fields of `Filters`.

    Raises:
        SelectionError: an unknown column, or a pattern, condition or range that cannot be parsed.
        NotFoundError: no such graph, worker or tensor.
    """
    asked, wanted = Filters(**filters), slice(offset, offset + limit)
    if asked == Filters() and sort in ("step", "-step"):
        return _page_by_step(run, wanted, descending=sort == "-step")
    if _is_large(run, asked):
        total, best = _first_rows(run, asked, sort, wanted.stop)
        return SnapshotPage(total, snapshots_at(run.catalog, best[wanted]))
    rows = _SORTED.setdefault(run, SortedRows()).get(run, (asked, sort))
    if rows is None and offset == 0:  # most lists need no more, so a partial sort is enough
        found = find_rows(run, asked)
        return SnapshotPage(len(found), snapshots_at(run.catalog, sort_rows(run, found, sort, limit)[wanted]))
    rows = _ordered(run, asked, sort) if rows is None else rows
    return SnapshotPage(len(rows), snapshots_at(run.catalog, rows[wanted]))


def _is_large(run: RunIndex, asked: Filters) -> bool:
    """Whether the snapshots to check are so numerous that they are read in parts."""
    catalog, steps = run.catalog, parse_steps(asked.steps)
    if catalog.rows <= catalog.rows_at_once or steps.stop == steps.first + 1:
        return False
    tensors = _tensor_mask(run, asked)
    among = catalog.rows if tensors is None else catalog.tensors.snapshots.totals(len(tensors))[tensors].sum()
    return bool(among > catalog.rows_at_once)


def _first_rows(run: RunIndex, asked: Filters, sort: str, count: int) -> tuple[int, Array]:
    """How many rows fit, and the first of them in order, looked for in some rows of the run at a time.

    Raises:
        LimitError: `count` is too large, or it takes too long.
    """
    if count > MOST_SORTED:
        raise LimitError(
            f"Row {count:,} of a sorted list is too far down in a run of {run.catalog.rows:,} snapshots.",
            "Reverse the order, or filter.",
        )
    total, best = 0, np.zeros(0, np.int64)
    for block in run.catalog.blocks():
        found = find_rows(run, asked, block)
        total += len(found)
        some = np.concatenate([best, sort_rows(run, found, sort, count)[:count]])
        best = sort_rows(run, some, sort, count)[:count]
    return total, best


def _page_by_step(run: RunIndex, wanted: slice, *, descending: bool) -> SnapshotPage:
    """A page of all snapshots; reads only the snapshots of a few steps."""
    catalog = run.catalog
    with catalog.lock:
        steps, total = catalog.steps.table(), catalog.rows
    order = slice(None, None, -1) if descending else slice(None)
    values, ends = steps.step[order], np.cumsum(steps.snapshots[order])
    first = int(np.searchsorted(ends, wanted.start, "right"))
    last = int(np.searchsorted(ends, wanted.stop, "left"))
    codes = [catalog.steps.code(step) for step in values[first : last + 1].tolist()]
    pieces = [catalog.rows_of_step(code) for code in codes if code is not None]
    rows = np.concatenate([piece[piece < total] for piece in pieces] or [np.zeros(0, np.int64)])
    before = int(ends[first - 1]) if first else 0
    page = rows[wanted.start - before : wanted.stop - before]
    return SnapshotPage(total, snapshots_at(catalog, page))


def snapshot_place(
    run: RunIndex, name: str, step: int, /, *, sort: str = "step", **filters: Any
) -> int | None:
    """The position (from 0) of a tensor at a step, first visit, in the list that `snapshots` pages through.

    Returns:
        None where the filters skip it, or it was not captured then. Raises as `snapshots`.
    """
    rows = _ordered(run, Filters(**filters), sort)
    codes = run.catalog.tensors.named(tensor_name(*split_tensor_name(name)))
    here = np.isin(run.catalog.column("tensor", rows), codes) & (run.catalog.column("step", rows) == step)
    places = np.flatnonzero(here)
    return int(places[0]) if len(places) else None


class LatestSnapshot(NamedTuple):
    """How many snapshots of a tensor were captured, and the first of its last step."""

    last: Snapshot
    snapshots: int


def latest_snapshots(run: RunIndex, among: Array | None = None) -> list[LatestSnapshot]:
    """The latest snapshot of each captured tensor. Tensors of one name in several graphs are several.

    Args:
        among: rows of the catalog, ascending; others do not count. All by default.
    """
    catalog = run.catalog
    looked = slice(0, catalog.rows) if among is None else among
    codes, steps = catalog.column("tensor", looked), catalog.column("step", looked)
    names = catalog.tensors.names[: int(codes.max(initial=-1)) + 1]
    graphs = catalog.tensors.graphs_of(np.arange(len(names), dtype=np.int32))
    order = sorted(range(len(names)), key=lambda code: (names[code], graphs[code]))
    last = np.full(len(names), -1, np.int64)
    np.maximum.at(last, codes, steps)
    places = np.flatnonzero(steps == last[codes])
    found, first = np.unique(codes[places], return_index=True)
    rows = places[first] if among is None else among[places[first]]
    row_of = dict(zip(found.tolist(), rows.tolist(), strict=True))
    counts = np.bincount(codes, minlength=len(names)).tolist()
    captured = [code for code in order if code in row_of]
    taken = snapshots_at(catalog, np.array([row_of[code] for code in captured], np.int64))
    return [LatestSnapshot(snapshot, counts[code]) for snapshot, code in zip(taken, captured, strict=True)]


def find_rows(run: RunIndex, filters: Filters, block: slice | None = None) -> Array:
    """The rows of the snapshots that fit, ascending; only among those of a block, if one is given. Raises as
    `snapshots`."""
    catalog = run.catalog
    block = slice(0, catalog.rows) if block is None else block
    if filters.where is not None and replace(filters, where=None) == Filters():
        # columns need not be gathered row by row
        mask = parse_predicate(filters.where).mask(CatalogColumns(run, block))
        found: Array = block.start + np.flatnonzero(mask)
        return found
    rows = _by_tensor_and_step(run, filters, parse_steps(filters.steps), block)
    if filters.worker is not None:
        rows = rows[catalog.column("worker", rows) == worker_code(catalog, filters.worker)]
    if filters.dtype is not None:
        code = catalog.dtypes.code(filters.dtype)
        rows = rows[catalog.column("dtype", rows) == (-1 if code is None else code)]
    if filters.visit is not None:
        rows = rows[catalog.column("visit", rows) == filters.visit]
    if filters.kept is not None:
        rows = rows[catalog.column("kept", rows) == filters.kept]
    if filters.nonfinite is not None:
        rows = rows[_nonfinite(run, rows, filters.nonfinite)]
    if filters.where is not None:
        rows = rows[parse_predicate(filters.where).mask(CatalogColumns(run, rows))]
    return rows


def undecided(run: RunIndex, **filters: Any) -> int:
    """The number of snapshots for which the condition `where` is undecided, because the import format does
    not have a count. Such snapshots match no filter. Raises as `snapshots`."""
    asked = Filters(**filters)
    if asked.where is None or not (run.catalog.unreported_counts or run.catalog.partial):
        return 0
    condition, found = parse_predicate(asked.where), 0
    for block in run.catalog.blocks():
        seen = CatalogColumns(run, find_rows(run, replace(asked, where=None), block))
        found += int(np.count_nonzero(~condition.mask(seen) & ~condition.mask(seen, False)))
    return found


def check_filters(filters: Filters) -> None:
    """Parses the pattern and the condition of filters, for any run.

    Raises:
        SelectionError: one of them cannot be parsed, or names an unknown statistic.
    """
    if filters.match is not None:
        match_names(filters.match, [""])
    if filters.where is not None:
        parse_predicate(filters.where)


def drop_sorted() -> None:
    """Drops the rows that were sorted last, of all runs."""
    _SORTED.clear()


def _ordered(run: RunIndex, asked: Filters, sort: str) -> Array:
    """All matching rows, in order; cached for the next page."""
    kept = _SORTED.setdefault(run, SortedRows())
    with kept.lock:  # several pages may be requested at once: one request sorts the list
        rows = kept.get(run, (asked, sort))
        if rows is None:
            blocks = run.catalog.blocks() if _is_large(run, asked) else [None]
            found = np.concatenate([find_rows(run, asked, block) for block in blocks])
            if len(found) > run.catalog.rows_at_once:
                raise LimitError(
                    f"{len(found):,} snapshots are too many to find a row among them.", "Filter the list."
                )
            rows = kept.put(run, (asked, sort), sort_rows(run, found, sort, len(found)))
    return rows


def _nonfinite(run: RunIndex, rows: Array, bad: bool) -> Mask:
    """The rows with NaN or infinity, or known to have none."""
    if not bad:
        return parse_predicate("nonfinite == 0").mask(CatalogColumns(run, rows))
    counts = [run.catalog.column(name, rows) > 0 for name in ("nan", "pos_inf", "neg_inf")]
    found: Mask = np.logical_or.reduce(counts)
    return found


def _by_tensor_and_step(run: RunIndex, filters: Filters, steps: StepRange, block: slice) -> Array:
    catalog = run.catalog
    tensors = _tensor_mask(run, filters)
    codes = None if tensors is None else np.flatnonzero(tensors)
    at = catalog.steps.code(steps.first) if steps.stop == steps.first + 1 else None
    if at is not None:
        rows = _within(catalog.rows_of_step(at), block)
    elif codes is not None and len(codes) <= _FEW_TENSORS and block.stop - block.start == catalog.rows:
        rows = np.sort(np.concatenate([np.zeros(0, np.int64), *map(catalog.rows_of_tensor, codes.tolist())]))
    else:
        rows = np.arange(block.start, block.stop)
    if tensors is not None:
        within = catalog.column("tensor", rows)
        rows = rows[
            np.append(tensors, np.zeros(max(int(within.max(initial=-1)) + 1 - len(tensors), 0), np.bool_))[
                within
            ]
        ]
    if not steps.everything and at is None:
        values = catalog.column("step", rows)
        rows = rows[(values >= steps.first) & (values < steps.stop)]
    return rows


def _within(rows: Array, block: slice) -> Array:
    first, stop = np.searchsorted(rows, (block.start, block.stop))
    found: Array = rows[first:stop]
    return found


def _tensor_mask(run: RunIndex, filters: Filters) -> Mask | None:
    """The matching tensors, or None if all match."""
    tensors = run.catalog.tensors
    count = len(tensors)
    masks: list[Mask] = []
    if filters.tensor is not None:
        masks.append(_mask(count, tensor_codes(run.catalog, filters.tensor, filters.graph)))
    elif filters.graph is not None:
        run.graph(filters.graph)  # raises NotFoundError, so that a mistyped graph is not an empty answer
        masks.append(_mask(count, tensors.in_graph(filters.graph)))
    if filters.node is not None:
        code = tensors.nodes.code(filters.node)
        masks.append(tensors.columns(count)[1] == (-1 if code is None else code))
    if filters.nonfinite:
        masks.append(tensors.nonfinite.totals(count) > 0)
    if filters.match is not None:
        masks.append(match_names(filters.match, tensors.names[:count]))
    if filters.op_type is not None:
        masks.append(tensors_by_node(run, count, lambda graph: graph.op_type.where(filters.op_type.__eq__)))
    if filters.layer is not None:
        prefix = filters.layer.rstrip("/")
        within = (prefix, prefix + "/")
        masks.append(
            tensors_by_node(
                run, count, lambda g: g.layer.where(lambda t: t == within[0] or t.startswith(within[1]))
            )
        )
    return np.logical_and.reduce(masks) if masks else None


def _mask(count: int, codes: Any) -> Mask:
    mask = np.zeros(count, np.bool_)
    codes = np.asarray(codes, np.int64)
    mask[codes[codes < count]] = True
    return mask
