"""`tensortap diff`: two runs, two steps or two workers compared tensor by tensor."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from tensortap.core.errors import NotFoundError

from ...argument_types import add_engine, add_follow_links, condition, natural, source
from ...console import console, print_json
from ...progress import rules_progress
from ...select_run import only_run, report_damage, worker_id
from ...views.diff import print_comparison

if TYPE_CHECKING:
    from tensortap.analysis.compare.comparison_records import Comparison

HELP = (
    "compare two runs, steps or workers: which tensors differ beyond rounding, and where they diverge first"
)
EXAMPLE = """tensortap diff logs/float32 logs/bfloat16
         tensortap diff logs/before logs/after --step 3 --html report.html
         tensortap diff logs/digits --step 10 --step-b 20
         tensortap diff logs/parallel --worker gpu1-4711-5d0c9a2e --worker-b gpu2-4688-17f03b64
         tensortap diff logs/old logs/new --match old/MatMul=new/MatMul --save-matches pairs.json
exit status: 0 equal within rounding, 1 different (or nothing to compare), 2 wrong usage"""
SORTS = "order, verdict, tensor, or a metric: max_abs, relative, rmse, cosine, sqnr, max_ulp, kl, …"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("a", type=source, metavar="A", help="the reference run; a path, s3://… or https://…")
    parser.add_argument(
        "b", type=source, metavar="B", nargs="?", help="the run to compare with A (default: A itself)"
    )
    parser.add_argument(
        "--step",
        type=natural,
        metavar="N",
        help="step to compare (default: all common steps, up to the first that differs)",
    )
    parser.add_argument("--step-b", type=natural, metavar="M", help="step of B, if it differs from that of A")
    parser.add_argument("--worker", metavar="ID|RANK", help="worker of A (default: the first that wrote)")
    parser.add_argument(
        "--worker-b",
        metavar="ID|RANK",
        help="worker of B (default: the first that wrote; within one run, the worker of A)",
    )
    parser.add_argument(
        "--where",
        type=condition,
        metavar="CONDITION",
        help="compare only tensors of A that match, e.g. \"op == 'MatMul'\"",
    )
    parser.add_argument(
        "--sort", type=_sort, default="order", metavar="KEY", help=f"sort by {SORTS} (worst first)"
    )
    parser.add_argument("--limit", type=natural, default=30, help="number of tensors to list (default: 30)")
    parser.add_argument(
        "--all", action="store_true", help="also list tensors that are equal or within rounding"
    )
    parser.add_argument(
        "--match",
        action="append",
        default=[],
        type=_match,
        metavar="A=B",
        help="pair a node of A with a node of B; repeatable",
    )
    parser.add_argument("--matches", type=Path, metavar="FILE", help="a JSON file of node pairs")
    parser.add_argument(
        "--save-matches",
        type=Path,
        metavar="FILE",
        help="write the node pairs that were not matched by name, for editing",
    )
    parser.add_argument("--html", type=Path, metavar="FILE", help="also write a report as one HTML file")
    parser.add_argument("--csv", type=Path, metavar="FILE", help="also write all tensors and metrics as CSV")
    add_engine(parser)
    parser.add_argument("--json", action="store_true", help="print JSON")
    add_follow_links(parser)


def _sort(text: str) -> str:
    from tensortap.analysis.compare.presentation import SORTS as DIFFERENCE_SORTS

    if text not in DIFFERENCE_SORTS:
        raise argparse.ArgumentTypeError(
            f"{text[:80]!r} is not a metric; use one of {', '.join(DIFFERENCE_SORTS)}"
        )
    return text


def _match(text: str) -> tuple[str, str]:
    left, found, right = text.partition("=")
    if not (left and found and right):
        raise argparse.ArgumentTypeError(f"{text!r} is not NODE_IN_A=NODE_IN_B")
    return left, right


def run(arguments: argparse.Namespace) -> int:
    compared, damage = _compare(arguments)
    _write(compared, damage, arguments)
    if arguments.json:
        print_json(asdict(compared) | {"damage": damage})
    else:
        print_comparison(compared, console(), arguments.sort, arguments.limit, everything=arguments.all)
    return int(compared.differ or not compared.tensors)


def _compare(arguments: argparse.Namespace) -> tuple[Comparison, list[str]]:
    """The comparison, and missing data."""
    from tensortap.analysis.compare.compare import check_pairs, compare
    from tensortap.analysis.compare.comparison_files import read_matches
    from tensortap.analysis.compare.side import Side
    from tensortap.analysis.notes import missing_from

    run_a = only_run(arguments.a, arguments)
    run_b = run_a if arguments.b is None else only_run(arguments.b, arguments)
    step_b = arguments.step if arguments.step_b is None else arguments.step_b
    worker_b = arguments.worker if arguments.worker_b is None and run_a is run_b else arguments.worker_b
    a = Side(run_a, arguments.step, worker_id(run_a, arguments.worker))
    b = Side(run_b, step_b, worker_id(run_b, worker_b))
    a.check()
    if run_a is run_b and a == b:
        raise argparse.ArgumentError(
            None,
            "A and B are the same: pass a second run, --step N --step-b M, or --worker-b.",
        )
    manual_pairs = dict(arguments.match)
    try:
        check_pairs(run_a, run_b, manual_pairs)
    except NotFoundError as error:
        raise argparse.ArgumentError(None, f"--match: {error}") from None
    matches = {} if arguments.matches is None else read_matches(arguments.matches)
    try:
        with rules_progress() as advance:
            compared = compare(a, b, matches=matches | manual_pairs, where=arguments.where, progress=advance)
    finally:  # missing data may be the reason
        report_damage(*dict.fromkeys((run_a, run_b)))
    return compared, missing_from(run_a, run_b)


def _write(compared: Comparison, damage: Sequence[str], arguments: argparse.Namespace) -> None:
    from tensortap.analysis.compare.comparison_files import comparison_csv, write_matches
    from tensortap.html.comparison_report import comparison_html

    if arguments.save_matches is not None:
        pairs = {left: right for graph in compared.graphs for left, right in graph.matches.items()}
        write_matches(arguments.save_matches, pairs)
    if arguments.html is not None:
        arguments.html.write_text(comparison_html(compared, damage), encoding="utf-8")
    if arguments.csv is not None:
        arguments.csv.write_text(comparison_csv(compared), encoding="utf-8", newline="")
