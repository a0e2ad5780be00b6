"""Plotly figures of statistics, histograms and values. plotly is imported on first use.

Every text from a dump is escaped: plotly reads some HTML in titles and hover texts.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from importlib import import_module
from itertools import pairwise
from typing import Any, Literal

import numpy as np

from tensortap.core.dtypes import Array
from tensortap.core.errors import InvalidValueError, NotFoundError
from tensortap.core.text import escaped, number_text
from tensortap.index.series.histograms import HistogramSeries

Kind = Literal["heatmap", "ridgeline"]

MOST_CELLS = 512  # of a heatmap's rows and columns; more are thinned evenly, which the title says
_MOST_RIDGES = 40
_MOST_TICKS = 12
_OVERLAP = 2.5  # how many rows the tallest ridge reaches up
_BAND, _LINE, _BAD = "rgba(68, 114, 196, 0.2)", "rgb(68, 114, 196)", "rgb(200, 30, 30)"


def figure(title: str, x: str, y: str) -> Any:
    """An empty figure. Raises ImportError: plotly is not installed."""
    objects = import_optional("plotly.graph_objects", "A figure", '"tensortap[plot]"')
    return objects.Figure(
        layout={
            "title": {"text": _escaped(title)},
            "xaxis": {"title": {"text": _escaped(x)}},
            "yaxis": {"title": {"text": _escaped(y)}},
            "template": "plotly_white",
        }
    )


def statistics_figure(columns: dict[str, Array], names: Sequence[str], title: str) -> Any:
    """Statistics over steps: those in `names` as lines; without, mean, mean ± std and min … max. Rows with
    NaN or infinities are marked."""
    shown = names or ("min", "max", "mean", "std")
    missing = [name for name in ("step", *shown) if name not in columns]
    if missing:
        raise NotFoundError(f"No column {missing[0]!r}.", f"Use one of {', '.join(columns)}.")
    _check_drawable(columns, shown, title)
    made = figure(title, "step", ", ".join(names) or "mean, mean ± std, min … max")
    step = columns["step"]
    if names:
        for name in names:
            made.add_scatter(x=step, y=_finite(columns[name]), name=_escaped(name), mode="lines+markers")
        level = columns[names[0]]
    else:
        mean, std = _finite(columns["mean"]), _finite(columns["std"])
        _band(made, step, _finite(columns["min"]), _finite(columns["max"]), "min … max")
        _band(made, step, mean - std, mean + std, "mean ± std")
        made.add_scatter(x=step, y=mean, name="mean", mode="lines+markers", line={"color": _LINE})
        level = columns["mean"]
    _mark_nonfinite(made, columns, step, level)
    return made


def _check_drawable(columns: dict[str, Array], names: Sequence[str], title: str) -> None:
    """Raises NotFoundError: there are no rows, or they have no numbers. InvalidValueError: a column is
    text."""
    of = f" of {title!r}" if title else ""
    if not len(columns["step"]):
        raise NotFoundError(f"No snapshot{of} to plot.", "Choose other steps.")
    for name in names:
        if columns[name].dtype.kind not in "biuf":
            raise InvalidValueError(
                f"The column {name!r} is not numeric.", "Plot a statistic, such as 'mean'."
            )
    if not any(np.isfinite(_finite(columns[name])).any() for name in names) and not _bad(columns).any():
        text_only = "dtype" in columns and set(columns["dtype"].tolist()) == {"string"}
        why = "It is text." if text_only else "It is empty or of unknown size."
        raise NotFoundError(f"There is nothing{of} to plot: {', '.join(names)} have no numbers.", why)


def _band(made: Any, step: Array, low: Array, high: Array, name: str) -> None:
    line = {"width": 0}
    made.add_scatter(x=step, y=low, mode="lines", line=line, showlegend=False, hoverinfo="skip")
    made.add_scatter(x=step, y=high, mode="lines", line=line, fill="tonexty", fillcolor=_BAND, name=name)


def _mark_nonfinite(made: Any, columns: dict[str, Array], step: Array, level: Array) -> None:
    bad = _bad(columns)
    if np.any(bad):
        at = np.nan_to_num(np.asarray(level[bad], np.float64), nan=0.0, posinf=0.0, neginf=0.0)
        marker = {"color": _BAD, "symbol": "x", "size": 9}
        made.add_scatter(x=step[bad], y=at, mode="markers", marker=marker, name="NaN or Inf")


def _bad(columns: dict[str, Array]) -> Array:
    """Which rows have NaN or infinities."""
    counts = [np.ma.filled(columns[name], 0) for name in ("nan", "pos_inf", "neg_inf") if name in columns]
    bad: Array = np.sum(counts, axis=0) > 0 if counts else np.zeros(len(columns["step"]), np.bool_)
    return bad


def _finite(values: Array) -> Array:
    """Replaces infinities, which plotly would draw as zeros, and unknown counts by gaps."""
    numbers = np.ma.filled(values.astype(np.float64), np.nan)
    return np.where(np.isfinite(numbers), numbers, np.nan)


def histograms_figure(series: HistogramSeries, kind: Kind) -> Any:
    """Histograms over steps: one row per step (the share of its elements in each bin), or as ridges.

    Raises:
        InvalidValueError: it is another kind. NotFoundError: no value is finite.
    """
    if kind not in ("heatmap", "ridgeline"):
        raise InvalidValueError(f"{kind!r} is not a kind of figure.", "Use 'heatmap' or 'ridgeline'.")
    if not len(series.step):
        raise NotFoundError(f"{series.tensor!r} has no snapshot in that range.", "Choose other steps.")
    if len(series.edges) < 2:
        raise NotFoundError(
            f"{series.tensor!r} has no histogram to plot.",
            "It is text or empty, has no finite value, or was imported without histograms.",
        )
    counts = np.asarray(series.counts, np.float64)
    share = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    return (_ridges if kind == "ridgeline" else _heatmap)(series, share)


def _heatmap(series: HistogramSeries, share: Array) -> Any:
    made = figure(f"{series.tensor}: histograms over steps", "step", "value")
    labels = _bin_labels(series.edges)
    made.add_heatmap(
        z=share.T,
        x=[str(step) for step in series.step.tolist()],
        y=list(range(len(labels))),
        customdata=np.broadcast_to(np.array(labels, object)[:, None], share.T.shape),
        hovertemplate="step %{x}<br>%{customdata}<br>%{z:.2%}<extra></extra>",
        colorscale="Viridis",
        colorbar={"title": {"text": "share"}},
    )
    made.update_xaxes(type="category")
    made.update_yaxes(**_value_ticks(series.edges))
    return made


def _ridges(series: HistogramSeries, share: Array) -> Any:
    made = figure(f"{series.tensor}: histograms over steps", "value", "step")
    rows = np.unique(np.linspace(0, len(share) - 1, min(len(share), _MOST_RIDGES)).astype(int))
    top = max(float(share.max()), 1e-12) / _OVERLAP
    bins = np.arange(share.shape[1])
    for place, row in reversed(list(enumerate(rows.tolist()))):  # the first step is in front
        base = np.full(len(bins), float(place))
        label = f"step {int(series.step[row])}"
        made.add_scatter(x=bins, y=base, mode="lines", line={"width": 0}, hoverinfo="skip", showlegend=False)
        made.add_scatter(
            x=bins,
            y=base + share[row] / top,
            mode="lines",
            fill="tonexty",
            fillcolor=_BAND,
            line={"color": _LINE, "width": 1},
            name=label,
            hovertext=[f"{label}<br>{each}" for each in _bin_labels(series.edges)],
            hoverinfo="text",
            showlegend=False,
        )
    places = list(range(0, len(rows), -(-len(rows) // _MOST_TICKS)))
    made.update_yaxes(tickvals=places, ticktext=[str(int(series.step[rows[place]])) for place in places])
    made.update_xaxes(**_value_ticks(series.edges))
    return made


def _bin_labels(edges: Array) -> list[str]:
    return [f"{number_text(left, 4)} … {number_text(right, 4)}" for left, right in pairwise(edges)]


def _value_ticks(edges: Array) -> dict[str, Any]:
    """Bins are drawn equally wide, as native buckets grow with the value."""
    places = np.unique(np.linspace(0, len(edges) - 1, 9).astype(int))
    return {"tickvals": (places - 0.5).tolist(), "ticktext": [number_text(edges[i]) for i in places]}


def _no_figure(value: Array) -> tuple[str, str]:
    """Why an array cannot be drawn, and the fix."""
    if value.dtype.kind in "OSU":
        return "Text cannot be plotted.", "Read it with tensor[:]."
    if not value.ndim:
        return "A single number cannot be plotted.", "Plot it over the steps: run.history(name).plot()."
    return f"A value of {value.ndim} dimensions cannot be plotted.", "Choose a slice: plot('0,:,:,3')."


def value_figure(value: Array, title: str) -> Any:
    """An array of two dimensions as a heatmap, of one as a line. NaN and infinities are gaps.

    Raises:
        InvalidValueError: it is text, empty, or has another number of dimensions.
    """
    if value.dtype.kind in "OSU" or value.ndim not in (1, 2):
        raise InvalidValueError(*_no_figure(value))
    if not value.size:
        raise InvalidValueError("An empty value cannot be plotted.", "Choose another slice or tensor.")
    array = np.abs(value) if value.dtype.kind == "c" else value
    kept = [np.unique(np.linspace(0, n - 1, min(n, MOST_CELLS)).astype(int)) for n in array.shape]
    if value.ndim == 1:
        made = figure(title, "index", "value")
        made.add_scatter(x=np.arange(len(array)), y=_finite(array), mode="lines")
        return made
    thinned = any(len(some) < n for some, n in zip(kept, array.shape, strict=True))
    made = figure(title + (f" ({MOST_CELLS} evenly spaced rows and columns)" if thinned else ""), "", "")
    made.add_heatmap(z=_finite(array[np.ix_(*kept)]), x=kept[1], y=kept[0], colorscale="Viridis")
    made.update_yaxes(autorange="reversed")
    return made


def import_optional(module: str, purpose: str, install: str) -> Any:
    """An optional package's module.

    Raises:
        ImportError: it is not installed; the text says how to.
    """
    try:
        return import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise ImportError(
            f"{purpose} needs {package}, which is not installed: pip install {install}", name=package
        ) from error


def _escaped(text: str) -> str:
    return escape(escaped(text))
