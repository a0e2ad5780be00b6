"""Pieces of HTML for notebooks. Every text from a dump passes through `text`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from tensortap.dump import Histogram

_WIDTH, _HEIGHT = 280, 60  # pixels of a drawn histogram


def text(value: object) -> str:
    """Any value, escaped."""
    return escape(str(value))


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
