"""Notebook output for tensors, runs, tables and pages: HTML and SVG of the template `notebook`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from tensortap.core.dtypes import Array
from tensortap.core.histogram import Histogram
from tensortap.core.text import counted, number_text

from .environment import render_macro

_HISTOGRAM_WIDTH, _STEPS_WIDTH = 280, 560  # pixels
_BARS_HEIGHT, _HEATMAP_HEIGHT = 60, 200  # pixels
_COLUMNS, _ROWS = 80, 60  # most cells of a heatmap, most bars
_NONFINITE_COLOR = "#d33"


class _Bar(NamedTuple):
    """A bar; in pixels, as text."""

    x: str
    y: str
    width: str
    height: str
    title: str
    fill: str = ""


def code(text: str) -> str:
    """A line of text."""
    return render_macro("notebook", "code", text)


def table(head: Sequence[str], rows: Iterable[Sequence[object]], caption: str = "") -> str:
    """A table with a header row."""
    return render_macro("notebook", "table", head, [list(map(str, row)) for row in rows], caption)


def tensor(name: str, rows: Iterable[Sequence[object]], hist: Histogram, zeros: int) -> str:
    """Facts of a tensor, and its histogram: buckets from the smallest to the largest value as bars of equal
    width; exact zeros between the signs."""
    buckets = hist.buckets()
    negative = [bucket for bucket in buckets if bucket[1] <= 0]
    buckets = [*negative, *([(0.0, 0.0, zeros)] if zeros else []), *buckets[len(negative) :]]
    titles = [f"{number_text(low, 4)} … {number_text(high, 4)}: {count:,}" for low, high, count in buckets]
    bars = _bars(_HISTOGRAM_WIDTH, [count for _, _, count in buckets], titles)
    return _table_with_bars(name, rows, _HISTOGRAM_WIDTH, bars)


def run(
    name: str, facts: Iterable[Sequence[object]], steps: Array, snapshots: Array, nonfinite: Array
) -> str:
    """Facts of a run, and its snapshots over steps; steps with NaN or infinity are red. Arrays are [n]."""
    if not len(steps):
        return _table_with_bars(name, facts, _STEPS_WIDTH, [])
    starts = _starts(len(steps), _COLUMNS)
    counts = [np.add.reduceat(values, starts).tolist() for values in (snapshots, nonfinite)]
    titles = [
        f"step {step}: {counted(int(count), 'snapshot')}{', some with NaN or Inf' if bad else ''}"
        for step, count, bad in zip(steps[starts], *counts, strict=True)
    ]
    fills = [_NONFINITE_COLOR if bad else "currentColor" for bad in counts[1]]
    return _table_with_bars(name, facts, _STEPS_WIDTH, _bars(_STEPS_WIDTH, counts[0], titles, fills))


def histograms(name: str, steps: Array, edges: Array, counts: Array) -> str:
    """Histograms over steps as a heatmap: the later the further right, the larger the value the higher.

    Args:
        steps: [n]. edges: [bins + 1]. counts: [n, bins].
    """
    if not counts.size:
        return render_macro("notebook", "heatmap", name, 0, 0, "", [])
    columns, rows = _starts(counts.shape[0], _COLUMNS), _starts(counts.shape[1], _ROWS)
    cells = np.add.reduceat(np.add.reduceat(counts, columns, axis=0), rows, axis=1)
    width, height = _STEPS_WIDTH / len(columns), _HEATMAP_HEIGHT / len(rows)
    shares = np.sqrt(cells / np.maximum(cells.max(axis=1, keepdims=True), 1))  # rare values stay visible
    rects = [
        (
            *(f"{x * width:.1f}", f"{_HEATMAP_HEIGHT - (y + 1) * height:.1f}"),
            *(f"{width:.1f}", f"{height:.1f}", f"{shares[x, y]:.2f}"),
        )
        for x, y in np.argwhere(cells)
    ]
    title = f"steps {steps[0]} to {steps[-1]}, values {number_text(edges[0])} to {number_text(edges[-1])}"
    return render_macro("notebook", "heatmap", name, _STEPS_WIDTH, _HEATMAP_HEIGHT, title, rects)


def page_link(url: str, name: str) -> str:
    """A link to a page that is served."""
    return render_macro("notebook", "page_link", url, name)


def page_frame(source: str, name: str, height: int, url: str) -> str:
    """The page in a frame (its address: `source`), and a link to it below."""
    return render_macro("notebook", "page_frame", source, name, height, url)


def _table_with_bars(name: str, rows: Iterable[Sequence[object]], width: int, bars: list[_Bar]) -> str:
    cells = [list(map(str, row)) for row in rows]
    return render_macro("notebook", "table_with_bars", name, cells, width, _BARS_HEIGHT, bars)


def _bars(
    width: int, counts: Sequence[int], titles: Sequence[str], fills: Sequence[str] | None = None
) -> list[_Bar]:
    """Bars of equal width, the highest of full height."""
    each, most = width / max(len(counts), 1), max([1, *counts])
    return [
        _Bar(
            x=f"{place * each:.1f}",
            y=f"{_BARS_HEIGHT * (1 - count / most):.1f}",
            width=f"{each * 0.9:.1f}",
            height=f"{_BARS_HEIGHT * count / most:.1f}",
            title=title,
            fill=fills[place] if fills else "",
        )
        for place, (count, title) in enumerate(zip(counts, titles, strict=True))
    ]


def _starts(length: int, most: int) -> Array:
    """Where groups of about equal length begin, at most `most`."""
    return np.unique(np.linspace(0, length, min(length, most), endpoint=False).astype(np.int64))
