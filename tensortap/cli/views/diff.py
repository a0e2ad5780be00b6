"""Output of `tensortap diff`: first whether and where two runs differ, then the tensors."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING

from rich.console import Console

from tensortap.core.text import counted, number_text, with_facts
from tensortap.index.catalog.tensor_table import NO_GRAPH_NAME

from ..console import cell, print_fitting_columns

if TYPE_CHECKING:
    from tensortap.analysis.compare.comparison_records import (
        Comparison,
        FirstDivergence,
        SideInfo,
        TensorDifference,
        Unmatched,
    )
    from tensortap.analysis.compare.metrics.distances import Metrics
    from tensortap.index.query.node_detail import FrameDetail

_STYLES = {"diverges": "bold red", "amplified": "red", "inherited": "yellow", "noise": "", "same": "dim"}
_UNMATCHED = 8  # nodes of one side that are listed
_RENAMES = 8
_GUESSED = {"order": "the order in which the ops ran", "structure": "neighbours", "scope": "neighbours"}
_NUMBERS = ("max abs", "scale", "relative", "rounding", "cosine", "max ULP")
_DROPPABLE = ("cosine", "rounding", "scale", "op", "max ULP", "dtypes", "relative")


def print_comparison(
    compared: Comparison, out: Console, sort: str, limit: int, *, everything: bool = False
) -> None:
    """Prints a comparison. `everything`: equal tensors and those within rounding, too."""
    from tensortap.analysis.compare.presentation import listed_tensors

    _print_headline(compared, out)
    casts = Counter((e.dtype_a, e.dtype_b) for e in compared.tensors if e.dtype_a != e.dtype_b)
    for (a, b), count in casts.most_common():
        out.print(cell(f"Dtypes differ: {a} in A, {b} in B ({counted(count, 'tensor')})."))
    if compared.first is not None:
        _print_first(compared.first, out)
    rows, more = listed_tensors(compared, sort, limit, everything=everything)
    _print_tensors(rows, compared, out)
    if more:
        out.print(f"… {more:,} more (use --limit, --json or --html)")
    if compared.differ and compared.counts["noise"] and not everything:
        out.print(f"Not listed: {counted(compared.counts['noise'], 'tensor')} within rounding (--all)")
    _print_matching(compared, out)
    for note in compared.notes:
        out.print(cell(f"Note: {note}", "yellow"))


def _side(side: SideInfo, other: SideInfo) -> str:
    same_run = side.run_id == other.run_id
    text = f"{side.run}, step {side.step}"
    return f"{text}, worker {side.worker}" if same_run and side.worker != other.worker else text


def _print_headline(compared: Comparison, out: Console) -> None:
    from tensortap.analysis.compare.presentation import headline

    names = f"A = {_side(compared.a, compared.b)}; B = {_side(compared.b, compared.a)}"
    out.print(cell(names, "bold"))
    some = sum(compared.counts.values()) > 0
    style = "bold red" if compared.differ else "bold green" if some else "bold yellow"
    out.print(cell(headline(compared), style))


def _print_first(first: FirstDivergence, out: Console) -> None:
    from tensortap.analysis.compare.presentation import distance_text, divergence_title

    entry = first.difference
    out.print(cell(f"{divergence_title(first)}.", "bold red"))
    out.print(cell(first.text, "yellow"))
    if entry.other != entry.tensor:
        guessed = _GUESSED.get(entry.matched)
        note = f"  (matched by {guessed}, not by name; correct it with --match)" if guessed else ""
        out.print(cell(f"  in B    {entry.other}{note}"))
    if entry.layer:
        out.print(cell(f"  layer   {entry.layer}"))
    if first.frame is not None:
        out.print(cell(f"  source  {_line(first.frame)}", "cyan"))
    if first.frame_b is not None and (first.frame is None or _line(first.frame_b) != _line(first.frame)):
        out.print(cell(f"  in B    {_line(first.frame_b)}", "cyan"))
    out.print(cell(f"  output  {distance_text(entry)}"))
    for operand in first.inputs:
        out.print(cell(f"  input   {operand.tensor}  {distance_text(operand)}"))


def _line(frame: FrameDetail) -> str:
    return f"{frame.file}:{frame.line}  {frame.text or ''}"


def _print_tensors(tensors: list[TensorDifference], compared: Comparison, out: Console) -> None:
    if not tensors:
        return
    out.print()
    from tensortap.analysis.compare.presentation import BOUNDED

    casts = any(entry.dtype_a != entry.dtype_b for entry in tensors)
    columns = ("tensor", "op", *(["dtypes"] if casts else []), *_NUMBERS, "")
    rows = []
    for entry in tensors:
        metrics, bound = entry.metrics, "≥" if entry.basis in BOUNDED else ""
        first = compared.first is not None and entry is compared.first.difference
        dtypes = [entry.dtype_a if entry.dtype_a == entry.dtype_b else f"{entry.dtype_a}, {entry.dtype_b}"]
        numbers = (
            _largest(metrics, metrics.max_abs, bound),
            _number(metrics.scale),
            _largest(metrics, metrics.relative, bound),
            _number(entry.limit),
            "" if math.isnan(metrics.cosine) else f"{metrics.cosine:.6f}",
            "" if math.isnan(metrics.max_ulp) else f"{metrics.max_ulp:,.0f}",
        )
        rows.append(
            [
                cell(_named(entry.variable, entry.tensor), "bold" if first else ""),
                cell(entry.op_type),
                *([cell(dtypes[0])] if casts else []),
                *map(cell, numbers),
                cell(_word(entry) + (" <- first" if first else ""), _STYLES[entry.verdict]),
            ]
        )
    print_fitting_columns(columns, rows, [name for name in _DROPPABLE if name in columns], _NUMBERS, out)


def _named(variable: str, name: str) -> str:
    """A node or tensor, with the variable that it reads, which is its name in the program."""
    return f"{variable}, {name}" if variable else name


def _word(entry: TensorDifference) -> str:
    metrics = entry.metrics
    if entry.basis == "shapes":
        return f"{entry.verdict} (shapes {list(entry.shape_a)}, {list(entry.shape_b)})"
    if metrics.nonfinite_a or metrics.nonfinite_b:
        counts = [
            f"{n:,} in {side}" for n, side in ((metrics.nonfinite_a, "A"), (metrics.nonfinite_b, "B")) if n
        ]
        return f"{entry.verdict} (NaN or inf: {', '.join(counts)})"
    return entry.verdict


def _largest(metrics: Metrics, distance: float, bound: str) -> str:
    """A largest distance; where NaN or infinity is further than any, how often that is so."""
    apart = metrics.nonfinite_mismatches
    return f"{bound}{apart:,} NaN/Inf" if apart else _number(distance, bound)


def _number(value: float, bound: str = "") -> str:
    return "" if math.isnan(value) else f"{bound}{number_text(value)}"


def _print_matching(compared: Comparison, out: Console) -> None:
    out.print()
    for graph in compared.graphs:
        parts = [f"{count:,} matched by {how}" for how, count in graph.matched.items() if count]
        left = f"{graph.only_a:,} only in A, {graph.only_b:,} only in B"
        nodes = f"Nodes {graph.name}" if graph.name == NO_GRAPH_NAME else f"Nodes of {graph.name}"
        out.print(cell(f"{nodes}: {', '.join(parts) or 'none matched'}; {left}."))
        for old, new, count in graph.renames[:_RENAMES]:
            out.print(cell(f"  renamed {old} -> {new} ({counted(count, 'node')})"))
    _print_unmatched("A", compared.only_a, out)
    _print_unmatched("B", compared.only_b, out)


def _print_unmatched(side: str, nodes: list[Unmatched], out: Console) -> None:
    captured = [node for node in nodes if node.captured]
    for node in captured[:_UNMATCHED]:
        name = _named(node.variable, node.node)
        line = f"  {node.frame.file.rpartition('/')[2]}:{node.frame.line}" if node.frame else ""
        out.print(cell(f"  only in {side}  {with_facts(name, node.op_type)}{line}", "dim"))
    if len(captured) > _UNMATCHED:
        out.print(cell(f"  only in {side}  … {len(captured) - _UNMATCHED:,} more captured nodes", "dim"))
