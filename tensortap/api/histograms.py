"""A tensor's histograms over steps, for people: as arrays, or as a figure."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from tensortap.index.series.histograms import HistogramSeries

from .plots import Kind, histograms_figure


class Histograms(HistogramSeries):
    """`HistogramSeries` (see its attributes) that draws itself."""

    @classmethod
    def of(cls, series: HistogramSeries) -> Histograms:
        """The same, drawable."""
        return cls(**{field.name: getattr(series, field.name) for field in fields(series)})

    def plot(self, kind: Kind = "heatmap") -> Any:
        """A plotly figure: `heatmap` (steps × values) or `ridgeline`.

        Raises:
            ImportError: plotly is not installed. InvalidValueError: it is no such kind.
            NotFoundError: no value is finite.
        """
        return histograms_figure(self, kind)

    def __repr__(self) -> str:
        bins = max(len(self.edges) - 1, 0)
        return f"<histograms of {self.tensor!r}: {len(self.step):,} rows, {bins} bins>"

    def _repr_html_(self) -> str:
        from tensortap.html import notebook_repr

        return notebook_repr.histograms(repr(self), self.step, self.edges, self.counts)
