"""A comparison as one HTML file: no script, nothing loaded, names escaped."""

from __future__ import annotations

import math
from collections.abc import Iterable
from html import escape

from tensortap.dump import escaped
from tensortap.index import FrameDetail

from .metrics import METRICS
from .records import Comparison, FirstDivergence, SideInfo, TensorDifference, Unmatched
from .sorting import sorted_tensors

MAX_ROWS = 5000  # a browser lays out a table of more rows slowly
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
_STYLE = """
body { font: 14px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 110rem; padding: 0 1rem; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin-top: 2rem; }
.differ { color: #b3261e; } .agree { color: #1b6e3c; } .note { color: #7a5b00; }
.scroll { overflow-x: auto; } table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .2rem .6rem; text-align: right; white-space: nowrap; border-bottom: 1px solid #e3e7ec; }
th { position: sticky; top: 0; background: #f4f6f8; } th.text, td.text { text-align: left; }
tr.diverges td { background: #fde3e1; } tr.amplified td { background: #feeedd; }
tr.inherited td { background: #fff7dc; } tr.same td { color: #7b8694; }
tr.first td { font-weight: 600; } code { font-size: .95em; }
"""


def comparison_html(compared: Comparison) -> str:
    """The report. Sentences, the first divergence, all tensors that are not equal with every metric, and the
    nodes without a partner."""
    title = f"{compared.a.run} and {compared.b.run}"
    parts = [
        "<!doctype html><html lang=en><head><meta charset=utf-8>",
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
        f"<title>{_text(title)} - tensortap</title><style>{_STYLE}</style></head><body>",
        f"<h1>{_side('A', compared.a)}<br>{_side('B', compared.b)}</h1>",
        _headline(compared),
        *(f"<p class=note>{_text(note)}</p>" for note in compared.notes),
        _first(compared.first),
        _tensors(compared),
        _matching(compared),
        _left("A", compared.only_a),
        _left("B", compared.only_b),
        "</body></html>\n",
    ]
    return "\n".join(parts)


def _text(text: str) -> str:
    """Text from a dump: neither markup, nor what turns the direction of the text around it."""
    return escape(escaped(text))


def _side(name: str, side: SideInfo) -> str:
    return f"{name} = {_text(side.run)}, step {side.step}, worker {_text(side.worker)}"


def _headline(compared: Comparison) -> str:
    counts = ", ".join(f"{count:,} {_text(verdict)}" for verdict, count in compared.counts.items() if count)
    word = "They differ" if compared.differ else "They agree up to rounding"
    style = "differ" if compared.differ else "agree"
    return f"<p class={style}><b>{word}</b>: {counts or 'nothing could be compared'}.</p>"


def _first(first: FirstDivergence | None) -> str:
    if first is None:
        return ""
    entry = first.difference
    extra = f"{_text(first.extra)}; of what both have " if first.extra else ""
    return (
        f"<h2>First divergence: {extra}<code>{_text(entry.tensor)}</code> ({_text(entry.op_type)})</h2>"
        f"<p>{_text(first.text)}</p>{_source('A', first.frame)}{_source('B', first.frame_b)}"
        + _table([entry, *first.inputs], first)
    )


def _source(side: str, frame: FrameDetail | None) -> str:
    if frame is None:
        return ""
    place, text = _text(f"{frame.file}:{frame.line}"), _text((frame.text or "").strip())
    return f"<p>{side}: <code>{place}</code> <code>{text}</code></p>"


def _tensors(compared: Comparison) -> str:
    shown = [entry for entry in compared.tensors if entry.verdict != "same"]
    rows = shown if len(shown) <= MAX_ROWS else sorted_tensors(shown, "verdict")[:MAX_ROWS]
    said = "in data flow order" if len(rows) == len(shown) else f"the worst {MAX_ROWS:,} of {len(shown):,}"
    return f"<h2>Tensors that are not equal, {said}</h2>{_table(rows, compared.first)}"


def _table(rows: Iterable[TensorDifference], first: FirstDivergence | None) -> str:
    texts = ("tensor in A", "in B", "op", "layer", "matched", "dtypes", "from", "verdict")
    head = "".join(f"<th class=text>{name}</th>" for name in texts)
    head += "".join(f"<th>{name}</th>" for name in ("visit", "rounding", *METRICS))
    body = "\n".join(_row(entry, first is not None and entry is first.difference) for entry in rows)
    return f"<div class=scroll><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"


def _row(entry: TensorDifference, is_first: bool) -> str:
    dtypes = entry.dtype_a if entry.dtype_a == entry.dtype_b else f"{entry.dtype_a}, {entry.dtype_b}"
    other = "" if entry.other == entry.tensor else entry.other
    texts = (
        entry.tensor,
        other,
        entry.op_type,
        entry.layer,
        entry.matched,
        dtypes,
        entry.basis,
        entry.verdict,
    )
    cells = "".join(f"<td class=text>{_text(text)}</td>" for text in texts)
    numbers = (entry.visit, entry.limit, *(getattr(entry.metrics, name) for name in METRICS))
    cells += "".join(f"<td>{_number(number)}</td>" for number in numbers)
    return f'<tr class="{_text(entry.verdict)}{" first" if is_first else ""}">{cells}</tr>'


def _number(number: float) -> str:
    return "" if math.isnan(number) else f"{number:.6g}"


def _matching(compared: Comparison) -> str:
    parts = ["<h2>Nodes</h2><ul>"]
    for graph in compared.graphs:
        told = ", ".join(f"{count:,} by {how}" for how, count in graph.matched.items() if count)
        parts.append(
            f"<li>{_text(graph.name)}: matched {told or 'none'}; {graph.only_a:,} only in A, "
            f"{graph.only_b:,} only in B</li>"
        )
        parts += [
            f"<li>renamed <code>{_text(old)}</code> to <code>{_text(new)}</code> ({count:,} nodes)</li>"
            for old, new, count in graph.renames
        ]
    return "".join(parts) + "</ul>"


def _left(side: str, nodes: list[Unmatched]) -> str:
    if not nodes:
        return ""
    items = "".join(
        f"<li><code>{_text(node.node)}</code> ({_text(node.op_type)})"
        f"{'' if node.captured else ', not captured'}</li>"
        for node in nodes
    )
    return f"<h2>Only in {side}</h2><ul>{items}</ul>"
