"""Pieces of HTML for notebooks. Every text from a dump passes through `text`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

import numpy as np

from tensortap.core.dtypes import Array
from tensortap.core.histogram import Histogram
from tensortap.core.text import counted, escaped

_WIDTH, _HEIGHT = 280, 60  # pixels of a drawn histogram
_WIDE, _HIGH = 560, 200  # pixels of what is drawn over steps
_COLUMNS, _ROWS = 80, 60  # most cells of a heatmap, most bars


def text(value: object) -> str:
    """Any value; HTML is escaped, and so are control characters and direction marks."""
    return escape(escaped(str(value)))


def table(head: Sequence[str], rows: Iterable[Sequence[object]], caption: str = "") -> str:
    """A table with a header row; all cells are escaped."""
    top = "".join(f"<th>{text(cell)}</th>" for cell in head)
    body = "".join("<tr>" + "".join(f"<td>{text(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    about = f"<caption>{text(caption)}</caption>" if caption else ""
    return f"<table>{about}<thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"


def histogram(hist: Histogram, zeros: int) -> str:
    """Buckets from the smallest to the largest value as bars of equal width; exact zeros between the
    signs."""
    buckets = hist.buckets()
    negative = [bucket for bucket in buckets if bucket[1] <= 0]
    bars = [*negative, *([(0.0, 0.0, zeros)] if zeros else []), *buckets[len(negative) :]]
    if not bars:
        return ""
    width, top = _WIDTH / len(bars), max(count for _, _, count in bars)
    drawn = "".join(
        f'<rect x="{i * width:.1f}" y="{_HEIGHT * (1 - count / top):.1f}" width="{width * 0.9:.1f}" '
        f'height="{_HEIGHT * count / top:.1f}"><title>{left:.4g} … {right:.4g}: {count:,}</title></rect>'
        for i, (left, right, count) in enumerate(bars)
    )
    return f'<svg width="{_WIDTH}" height="{_HEIGHT}" fill="currentColor" opacity="0.6">{drawn}</svg>'


def bars(steps: Array, counts: Array, marked: Array) -> str:
    """Counts over steps as bars; steps with some that are `marked` (not finite) are red. [n] each."""
    if not len(steps):
        return ""
    starts = _starts(len(steps), _COLUMNS)
    counts, marked = (np.add.reduceat(values, starts) for values in (counts, marked))
    width, top = _WIDE / len(starts), max(int(counts.max()), 1)
    drawn = "".join(
        f'<rect x="{i * width:.1f}" y="{_HEIGHT * (1 - count / top):.1f}" width="{width * 0.9:.1f}" '
        f'height="{_HEIGHT * count / top:.1f}" fill="{"#d33" if bad else "currentColor"}">'
        f"<title>step {step}: {counted(int(count), 'snapshot')}"
        f"{', some with NaN or Inf' if bad else ''}</title></rect>"
        for i, (step, count, bad) in enumerate(zip(steps[starts], counts, marked, strict=True))
    )
    return f'<svg width="{_WIDE}" height="{_HEIGHT}" fill="currentColor" opacity="0.6">{drawn}</svg>'


def heatmap(steps: Array, edges: Array, counts: Array) -> str:
    """Histograms over steps: the later the further right, the larger the value the higher.

    Args:
        steps: [n]. edges: [bins + 1]. counts: [n, bins].
    """
    if not counts.size:
        return ""
    columns, rows = _starts(counts.shape[0], _COLUMNS), _starts(counts.shape[1], _ROWS)
    cells = np.add.reduceat(np.add.reduceat(counts, columns, axis=0), rows, axis=1)
    width, height = _WIDE / len(columns), _HIGH / len(rows)
    shares = np.sqrt(cells / np.maximum(cells.max(axis=1, keepdims=True), 1))  # rare values stay visible
    drawn = "".join(
        f'<rect x="{x * width:.1f}" y="{_HIGH - (y + 1) * height:.1f}" width="{width:.1f}" '
        f'height="{height:.1f}" opacity="{shares[x, y]:.2f}"/>'
        for x, y in np.argwhere(cells)
    )
    about = f"steps {steps[0]} to {steps[-1]}, values {edges[0]:.4g} to {edges[-1]:.4g}"
    return (
        f'<svg width="{_WIDE}" height="{_HIGH}" fill="currentColor"><title>{text(about)}</title>{drawn}</svg>'
    )


def _starts(length: int, most: int) -> Array:
    """Where groups of about equal length begin, at most `most`."""
    return np.unique(np.linspace(0, length, min(length, most), endpoint=False).astype(np.int64))
