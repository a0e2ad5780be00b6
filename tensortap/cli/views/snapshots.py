"""Snapshots as a table: those that fit a filter, sorted, with their main statistics."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from tensortap.core.text import counted, did_you_mean

from ..argument_types import chosen_steps, column, condition, positive
from ..console import cell, console, print_fitting_columns, print_json
from ..select_run import names_in_several_graphs, print_graph_hint
from .tensor import snapshot_shape_text, statistic_text

if TYPE_CHECKING:
    from rich.text import Text

    from tensortap.index.run_index import RunIndex
    from tensortap.index.snapshot import Snapshot

_NUMBERS = ("step", "visit", "nan", "inf", "zero", "min", "mean", "max", "std")
_COLUMNS = ("tensor", "graph", "dtype", "shape", *_NUMBERS)
_DROPPABLE = ("zero", "visit", "std", "dtype", "inf", "mean", "shape")
_LIMIT = 50
_LISTED = 10  # op types or dtypes
_UNKNOWN = "unknown"  # facts that a foreign format lacks
_SAME_NAMES = ("worker", "graph", "visit", "layer", "dtype", "where")
_FILTERS = ("where", "op", "layer", "dtype", "nonfinite", "kept", "sort", "reverse", "step")


def add_filters(parser: argparse.ArgumentParser) -> None:
    """The options that filter snapshots; each lists snapshots instead of tensors."""
    group = parser.add_argument_group("list snapshots instead of tensors")
    group.add_argument(
        "--where",
        type=condition,
        metavar="CONDITION",
        help='e.g. "nan > 0 and op == \'MatMul\'" or "zeros > 90%%"',
    )
    group.add_argument("--op", metavar="TYPE", help="only tensors of nodes with this op type")
    group.add_argument("--layer", metavar="PATH", help="only tensors of this Keras layer and its sublayers")
    group.add_argument("--dtype", help="only tensors of this dtype")
    group.add_argument("--nonfinite", action="store_true", help="only snapshots with NaN or Inf")
    group.add_argument("--kept", action="store_true", help="only snapshots with a stored value")
    group.add_argument(
        "--sort",
        type=column,
        metavar="COLUMN",
        help="column to sort by: a statistic, step, tensor, dtype, time …",
    )
    group.add_argument("--reverse", action="store_true", help="largest first")
    group.add_argument(
        "--limit", type=positive, metavar="N", help="maximum number of rows (default: 50 snapshots)"
    )


def has_filters(arguments: argparse.Namespace) -> bool:
    """Whether a filter was given (step 0 counts)."""
    given = (getattr(arguments, name) for name in _FILTERS)
    return any(each is not None and each is not False for each in given)


def print_snapshots(run: RunIndex, arguments: argparse.Namespace) -> None:
    """Prints the matching snapshots, and the number of further ones.

    Raises:
        SelectionError: a condition, pattern or column cannot be parsed. NotFoundError: there is no such step.
    """
    from tensortap.index.query.search import snapshots, undecided

    sort = ("-" if arguments.reverse else "") + (arguments.sort or "step")
    filters = _filters(run, arguments)
    page = snapshots(run, sort=sort, limit=arguments.limit or _LIMIT, **filters)
    unknown = undecided(run, **filters)
    if unknown:
        what = f"{counted(unknown, 'snapshot')} skipped: the import lacks a count"
        console(stderr=True).print(f"{what} that the condition needs.", style="yellow")
    if arguments.json:
        print_json([row.as_dict() for row in page.rows])
        return
    if not page.total:
        console().print(cell(" ".join(["No snapshots match.", *_unknown_names(run, arguments)])))
        return
    several = names_in_several_graphs(run, {row.tensor for row in page.rows})
    _print(page.rows, (arguments.sort or "").lstrip("-"), bool(several))
    if several:
        print_graph_hint(several)
    if page.total > len(page.rows):
        more = counted(page.total - len(page.rows), "more snapshot")
        console(stderr=True).print(f"{more}; show all with --limit {page.total}", style="dim")


def _unknown_names(run: RunIndex, arguments: argparse.Namespace) -> Iterator[str]:
    """Sentences about an op type or dtype that the run does not have, with the closest that it has."""
    graphs = [run.graph(graph.id) for graph in run.graphs] if arguments.op is not None else []
    op_types = {op_type for graph in graphs for op_type in graph.op_type.values}
    for what, name, known in (
        ("op type", arguments.op, sorted(op_types - {""})),
        ("dtype", arguments.dtype, sorted(run.catalog.dtypes.values)),
    ):
        if name is not None and name not in known:
            listed = f"It has {', '.join(known[:_LISTED]) or 'none'}{', …' if len(known) > _LISTED else ''}."
            yield f"The run has no {what} {name!r}. {did_you_mean(name, known, listed)}"


def _filters(run: RunIndex, arguments: argparse.Namespace) -> dict[str, Any]:
    return {
        "match": arguments.match or None,
        "steps": chosen_steps(run, arguments.step),
        "op_type": arguments.op,
        "nonfinite": arguments.nonfinite or None,
        "kept": arguments.kept or None,
        **{name: getattr(arguments, name) for name in _SAME_NAMES},
    }


def _print(rows: list[Snapshot], sorted_by: str, with_graph: bool) -> None:
    droppable = [name for name in _DROPPABLE if name != sorted_by]
    columns = [name for name in _COLUMNS if name != "graph" or with_graph]
    cells = [_cells(row) for row in rows]
    print_fitting_columns(
        columns, [[row[name] for name in columns] for row in cells], droppable, numeric=_NUMBERS
    )


def _cells(row: Snapshot) -> dict[str, Text]:
    infinite = row.pos_inf + row.neg_inf
    texts = {name: getattr(row, name) for name in ("tensor", "graph", "dtype", "step", "visit")}
    texts |= {name: statistic_text(row, name) for name in ("min", "mean", "max", "std")}
    return {name: cell(text) for name, text in texts.items()} | {
        "shape": cell(snapshot_shape_text(row)),
        "nan": cell(_count(row, row.nan, "nan"), "red" if row.nan else ""),
        "inf": cell(_count(row, infinite, "pos_inf", "neg_inf"), "red" if infinite else ""),
        "zero": cell(_count(row, row.zero, "zero")),
    }


def _count(row: Snapshot, count: int, *names: str) -> str:
    return f"{count:,}" if count or row.unknown.isdisjoint(names) else _UNKNOWN
