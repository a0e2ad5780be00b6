"""A comparison as one HTML file, without scripts or external resources, and with escaped names."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from tensortap.analysis.compare.comparison_records import (
    Comparison,
    FirstDivergence,
    GraphPair,
    TensorDifference,
)
from tensortap.analysis.compare.metrics.distances import LARGEST_DISTANCE, METRICS
from tensortap.analysis.compare.presentation import divergence_title, headline, sorted_tensors
from tensortap.core.text import counted, number_text

from .environment import render

MAX_ROWS = 5000  # a browser lays out a table of more rows slowly
# Columns of numbers: first the metrics of the verdict, then the others.
_FOREMOST = ("relative", "rounding", "max_abs", "scale", "cosine", "max_ulp")
_NUMBERS = (*_FOREMOST, *(name for name in METRICS if name not in _FOREMOST))
_TEXTS = ("dtypes", "in B", "layer", "matched", "from")


class _Row(NamedTuple):
    """A tensor as a row of a table; `style`: classes of CSS."""

    style: str
    verdict: str
    name: str
    op_type: str
    numbers: list[str]
    texts: tuple[str, ...]


class _Table(NamedTuple):
    """Rows, and how many tensors they are, in words."""

    rows: list[_Row]
    total: str


def comparison_html(compared: Comparison, damage: Sequence[str] = ()) -> str:
    """The report. Sentences, the first divergence, the tensors that differ beyond rounding with every metric,
    folded those that rounding explains, and the nodes without a partner.

    Args:
        damage: sentences about what of the runs could not be read, and is missing in it.
    """
    first = compared.first
    beyond = [entry for entry in compared.tensors if entry.verdict not in ("same", "noise")]
    noise = [entry for entry in compared.tensors if entry.verdict == "noise"]
    return render(
        "comparison",
        compared=compared,
        damage=damage,
        headline=headline(compared),
        first=first,
        first_title="" if first is None else divergence_title(first),
        first_rows=[] if first is None else _rows([first.difference, *first.inputs], first),
        beyond=_table(beyond, "verdict", first),
        noise=_table(noise, "relative", first),
        graphs=[_graph(graph) for graph in compared.graphs],
        numbers=(*_NUMBERS, "visit"),
        texts=_TEXTS,
    )


def _table(entries: list[TensorDifference], by: str, first: FirstDivergence | None) -> _Table:
    """As many tensors as a browser lays out, the worst if there are more."""
    if len(entries) <= MAX_ROWS:
        return _Table(_rows(entries, first), f"{counted(len(entries), 'tensor')} in data flow order")
    worst = sorted_tensors(entries, by)[:MAX_ROWS]
    return _Table(_rows(worst, first), f"the worst {MAX_ROWS:,} of {counted(len(entries), 'tensor')}")


def _rows(entries: Iterable[TensorDifference], first: FirstDivergence | None) -> list[_Row]:
    return [_row(entry, first is not None and entry is first.difference) for entry in entries]


def _row(entry: TensorDifference, is_first: bool) -> _Row:
    metrics = {name: getattr(entry.metrics, name) for name in METRICS} | {"rounding": entry.limit}
    nonfinite = {name: entry.metrics.nonfinite_mismatches for name in LARGEST_DISTANCE}
    numbers = [
        f"{nonfinite[name]:,} NaN/Inf" if nonfinite.get(name) else _number(metrics[name]) for name in _NUMBERS
    ]
    dtypes = entry.dtype_a if entry.dtype_a == entry.dtype_b else f"{entry.dtype_a}, {entry.dtype_b}"
    other = "" if entry.other == entry.tensor else entry.other
    return _Row(
        style=f"{entry.verdict} first" if is_first else entry.verdict,
        verdict=f"{entry.verdict}, first" if is_first else entry.verdict,
        name=entry.tensor,
        op_type=entry.op_type,
        numbers=[*numbers, str(entry.visit)],
        texts=(dtypes, other, entry.layer, entry.matched, entry.basis),
    )


def _number(number: float) -> str:
    return "" if math.isnan(number) else number_text(number)


def _graph(graph: GraphPair) -> dict[str, object]:
    matched = ", ".join(f"{count:,} by {how}" for how, count in graph.matched.items() if count)
    return {
        "name": graph.name,
        "matched": matched or "none",
        "only_a": f"{graph.only_a:,}",
        "only_b": f"{graph.only_b:,}",
        "renames": [(old, new, f"{count:,}") for old, new, count in graph.renames],
    }
