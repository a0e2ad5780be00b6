"""`tensortap show`: the tensors of a run, or one tensor: summary, histogram, values."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from tensortap.core.text import counted

from ..argument_types import local, natural, pattern, steps
from ..console import cell, console, print_json, print_table
from ..select_run import (
    add_path,
    dropped_text,
    names_in_several_graphs,
    only_run,
    print_graph_hint,
    report_damage,
    worker_id,
)
from ..views.snapshots import add_filters, has_filters, print_snapshots
from ..views.tensor import TensorView, parse_highlight, snapshot_shape_text

if TYPE_CHECKING:
    from rich.text import Text

    from tensortap.index.query.search import LatestSnapshot
    from tensortap.index.run_index import RunIndex

HELP = "list the tensors of a run, or show one: summary, histogram, values"
EXAMPLE = """tensortap show logs/digits digits_1/hidden_1/Relu:0 --step 30 --selection 0,:10 --highlight 1:
         tensortap show logs/digits digits_1/hidden_1/Relu:0 --workers l2
         tensortap show logs/digits --where "nan > 0 and op == 'MatMul'" --sort max --reverse"""

_OF_ONE = ("selection", "highlight", "out", "workers")  # options that mean something of one tensor only
_OF_LISTS = ("match", "where", "op", "layer", "dtype", "nonfinite", "kept", "sort", "reverse", "limit")
_WORKERS = 30  # lines of a table
_OF_BOTH = ("worker", "graph", "visit")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_path(parser)
    parser.add_argument(
        "tensor", nargs="?", metavar="TENSOR", help="a tensor name, node:slot (default: list all tensors)"
    )
    parser.add_argument(
        "--match", type=pattern, metavar="REGEX", help="list only tensors whose name matches (RE2 syntax)"
    )
    parser.add_argument(
        "--step",
        type=steps,
        metavar="STEPS",
        help="step of TENSOR (default: last); without TENSOR, the steps to list: 7, 3:10, 3:, or "
        "-1 for the last",
    )
    parser.add_argument(
        "--visit",
        type=natural,
        help="loop iteration within the step (default: 0; without TENSOR: all)",
    )
    parser.add_argument(
        "--worker", metavar="ID|RANK", help="worker (default: the latest; without TENSOR: all)"
    )
    parser.add_argument("--graph", help="graph, if several have the tensor; '-' for tensors without a graph")
    parser.add_argument("--selection", help="slice of TENSOR to print, e.g. 0,:,10:20")
    parser.add_argument(
        "--highlight",
        type=parse_highlight,
        action="append",
        default=[],
        metavar="RANGE",
        help="highlight values of TENSOR: 'nan', '1:', ':-1', '-1:1' or a number; repeatable",
    )
    parser.add_argument(
        "--out",
        type=local,
        metavar="FILE.npy",
        help="also write TENSOR, or its slice, to this file",
    )
    parser.add_argument(
        "--workers",
        nargs="?",
        const="mean",
        metavar="STATISTIC",
        help="compare TENSOR on all workers by a statistic (default: mean), worst first, at all steps "
        "or at --step",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    add_filters(parser)


def run(arguments: argparse.Namespace) -> int:
    _check_options(arguments)
    found = only_run(arguments.path)
    try:
        return _answer(found, arguments)
    finally:
        report_damage(found)


def _answer(found: RunIndex, arguments: argparse.Namespace) -> int:
    if arguments.tensor is None:
        if has_filters(arguments):
            print_snapshots(found, arguments)
        else:
            _list(found, arguments)
        return 0
    if arguments.workers is not None:
        _print_workers(found, arguments)
        return 0
    view = TensorView.of(
        found,
        arguments.tensor,
        step=arguments.step,
        visit=arguments.visit or 0,
        worker=worker_id(found, arguments.worker),
        graph=arguments.graph,
        selection="" if arguments.out and arguments.selection is None else arguments.selection,
    )
    if arguments.out is not None:
        view.save(arguments.out)
    if arguments.json:
        print_json(view.as_data())
    else:
        view.print(console(), arguments.highlight)
    return int(view.is_damaged)


def _check_options(arguments: argparse.Namespace) -> None:
    """Raises argparse.ArgumentError for an option of one tensor without TENSOR, or an option of lists with
    it."""
    unfit = _OF_ONE if arguments.tensor is None else _OF_LISTS
    given = [name for name in unfit if getattr(arguments, name) not in (None, False, [])]
    if not given:
        return
    if arguments.tensor is None:
        raise argparse.ArgumentError(None, f"--{given[0]} needs a TENSOR.")
    raise argparse.ArgumentError(None, f"--{given[0]} only applies to lists; remove TENSOR.")


def _list(found: RunIndex, arguments: argparse.Namespace) -> None:
    from tensortap.index.query.filter_expressions import match_names
    from tensortap.index.query.search import Filters, find_rows, latest_snapshots

    asked = {name: getattr(arguments, name) for name in _OF_BOTH}
    among = find_rows(found, Filters(**asked)) if any(each is not None for each in asked.values()) else None
    listed = latest_snapshots(found, among)
    matching = match_names(arguments.match or "", [each.last.tensor for each in listed])
    fitting = [each for each, fits in zip(listed, matching, strict=True) if fits]
    seen = fitting[: arguments.limit]
    if arguments.json:
        print_json([_data(each) for each in seen])
        return
    if not seen:
        print(_nothing(found, len(listed), among is not None), file=sys.stderr)
        return
    several = names_in_several_graphs(found, {each.last.tensor for each in seen})
    columns = ("tensor", *(("graph",) if several else ()), "dtype", "shape", "snapshots", "last step")
    rows = [_cells(each, bool(several)) for each in seen]
    print_table(console(), columns, rows, numeric=("snapshots", "last step"))
    if several:
        print_graph_hint(several)
    if len(fitting) > len(seen):
        more = counted(len(fitting) - len(seen), "more tensor")
        console(stderr=True).print(f"{more}; show all with --limit {len(fitting)}", style="dim")


def _print_workers(found: RunIndex, arguments: argparse.Namespace) -> None:
    from tensortap.index.series.worker_grid import worker_grid

    grid = worker_grid(
        found, arguments.tensor, arguments.workers, graph=arguments.graph, steps=arguments.step, limit=None
    )
    columns = ("rank", "worker", "steps", "differs at", "first at step", "last value", "median")
    last = (grid.captured * np.arange(1, len(grid.step) + 1)).argmax(axis=1)
    shown = len(grid.worker) if arguments.json else _WORKERS
    rows = [
        (
            grid.rank[at],
            grid.worker[at],
            int(np.count_nonzero(grid.captured[at])),
            int(grid.differing[at]),
            None if grid.first_differing[at] < 0 else int(grid.first_differing[at]),
            float(grid.value[at, last[at]]),
            float(grid.median[last[at]]),
        )
        for at in range(min(len(grid.worker), shown))
    ]
    if arguments.json:
        print_json([dict(zip(columns, row, strict=True)) for row in rows])
        return
    texts = [[cell(_number_text(each)) for each in row] for row in rows]
    print_table(console(), columns, texts, numeric=(columns[0], *columns[2:]))
    if len(grid.worker) > shown:
        console(stderr=True).print(
            f"{counted(len(grid.worker) - shown, 'more worker')}; all with --json", style="dim"
        )


def _number_text(value: float | str | None) -> str:
    if isinstance(value, str):
        return value
    return "" if value is None else f"{value:,}" if isinstance(value, int) else f"{value:.9g}"


def _nothing(run: RunIndex, listed: int, is_part: bool) -> str:
    if listed:
        return f"None of {counted(listed, 'tensor')} has a name that matches."
    if is_part:
        return "No tensors were captured there."
    if run.missing_data:
        return f"No tensors can be read, because the run is {'damaged' if run.damage else 'incomplete'}."
    if run.dropped:
        return f"No tensors can be read: {dropped_text(run.dropped)}."
    if run.catalog.source:
        return "The imported source has no tensors. 'tensortap info RUN' shows its graphs."
    return (
        "No tensors were captured: no watched tensor was computed at a watched step. 'tensortap "
        "info RUN' shows the watches."
    )


def _data(seen: LatestSnapshot) -> dict[str, Any]:
    return {
        "tensor": seen.last.tensor,
        "graph": seen.last.graph,
        "dtype": seen.last.dtype,
        "shape": seen.last.shape,
        "snapshots": seen.snapshots,
        "last_step": seen.last.step,
    }


def _cells(seen: LatestSnapshot, with_graph: bool) -> list[Text]:
    last = seen.last
    graph = (last.graph,) if with_graph else ()
    return [
        cell(text)
        for text in (
            last.tensor,
            *graph,
            last.dtype,
            snapshot_shape_text(last),
            f"{seen.snapshots:,}",
            last.step,
        )
    ]
