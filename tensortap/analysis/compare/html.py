"""A comparison as one HTML file: no script, nothing loaded, names escaped."""

from __future__ import annotations

import math
from collections.abc import Iterable
from html import escape

from tensortap.core.text import counted, escaped
from tensortap.index.graph.node_detail import FrameDetail

from .comparison import Comparison, FirstDivergence, SideInfo, TensorDifference, Unmatched
from .html_style import STYLE
from .metrics.distances import LARGEST_DISTANCE, METRICS
from .presentation import headline, sorted_tensors

MAX_ROWS = 5000  # a browser lays out a table of more rows slowly
# Columns of numbers: first what the verdict is made of, then the other metrics.
_FOREMOST = ("relative", "rounding", "max_abs", "scale", "cosine", "max_ulp")
_OTHERS = tuple(name for name in METRICS if name not in _FOREMOST)
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def comparison_html(compared: Comparison) -> str:
    """The report. Sentences, the first divergence, the tensors that differ beyond rounding with every metric,
    folded those that rounding explains, and the nodes without a partner."""
    title = f"{compared.a.run} and {compared.b.run}"
    parts = [
        "<!doctype html><html lang=en><head><meta charset=utf-8>",
        '<meta name="viewport" content="width=device-width"><meta name="color-scheme" content="light dark">',
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
        f"<title>{_text(title)} - tensortap</title><style>{STYLE}</style></head><body>",
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
    style = "differ" if compared.differ else "agree" if compared.tensors else "note"
    return f"<p class={style}><b>{_text(headline(compared))}</b></p>"


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
    beyond = [entry for entry in compared.tensors if entry.verdict not in ("same", "noise")]
    noise = [entry for entry in compared.tensors if entry.verdict == "noise"]
    parts = list[str]()
    if beyond:
        rows, said = _most(beyond, "verdict")
        parts.append(f"<h2>Beyond rounding: {said}</h2>{_table(rows, compared.first)}")
    if noise:
        rows, said = _most(noise, "relative")
        table = _table(rows, compared.first)
        parts.append(f"<details><summary>Apart by rounding: {said}</summary>{table}</details>")
    return "".join(parts)


def _most(entries: list[TensorDifference], by: str) -> tuple[list[TensorDifference], str]:
    """As many as a browser lays out, the worst if there are more, and how many they are in words."""
    rows = entries if len(entries) <= MAX_ROWS else sorted_tensors(entries, by)[:MAX_ROWS]
    if len(rows) == len(entries):
        return rows, f"{counted(len(rows), 'tensor')} in data flow order"
    return rows, f"the worst {MAX_ROWS:,} of {counted(len(entries), 'tensor')}"


def _table(rows: Iterable[TensorDifference], first: FirstDivergence | None) -> str:
    head = '<th class="text verdict">verdict</th><th class=text>tensor in A</th><th class=text>op</th>'
    head += "".join(f"<th>{name}</th>" for name in (*_FOREMOST, *_OTHERS, "visit"))
    head += "".join(f"<th class=text>{name}</th>" for name in ("dtypes", "in B", "layer", "matched", "from"))
    body = "\n".join(_row(entry, first is not None and entry is first.difference) for entry in rows)
    return f"<div class=scroll><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"


def _row(entry: TensorDifference, is_first: bool) -> str:
    dtypes = entry.dtype_a if entry.dtype_a == entry.dtype_b else f"{entry.dtype_a}, {entry.dtype_b}"
    other = "" if entry.other == entry.tensor else entry.other
    name = _text(entry.tensor).replace("/", "/<wbr>")
    verdict = f"{entry.verdict}, first" if is_first else entry.verdict
    cells = f'<td class="text verdict">{_text(verdict)}</td><td class="text name">{name}</td>'
    cells += f"<td class=text>{_text(entry.op_type)}</td>"
    metrics = {name: getattr(entry.metrics, name) for name in METRICS} | {"rounding": entry.limit}
    apart = {name: entry.metrics.nonfinite_apart for name in LARGEST_DISTANCE}
    numbers = [
        f"{apart[name]:,} NaN/Inf" if apart.get(name) else _number(metrics[name])
        for name in (*_FOREMOST, *_OTHERS)
    ]
    cells += "".join(f"<td>{number}</td>" for number in (*numbers, entry.visit))
    texts = (dtypes, other, entry.layer, entry.matched, entry.basis)
    cells += "".join(f"<td class=text>{_text(text)}</td>" for text in texts)
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
