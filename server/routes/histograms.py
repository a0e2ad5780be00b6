"""One tensor over steps: its statistics (history) and its histograms."""

from __future__ import annotations

from typing import Any

from flask import Blueprint, Response

from tensortap.index.series.histograms import HistogramSeries, histograms
from tensortap.index.series.history import history

from ..log_reader import current_run
from ..response_cache import cached
from ..responses.json_arrays import encode_rows
from ..responses.json_encoding import plain
from ..responses.parameters import Parameters, ordered_range
from ..responses.responses import json_response

blueprint = Blueprint("histograms", __name__)

HISTORY_ROWS = 2000
MAX_HISTORY_ROWS = 20_000
HISTOGRAM_ROWS = 100
MAX_HISTOGRAM_ROWS = 500
BINS = 60
MAX_BINS = 4096
_EXAMPLE = "dense/MatMul:0"
_ROW_FIELDS = ("step", "visit", "worker", "nan", "pos_inf", "neg_inf", "zero", "min", "max")


@blueprint.get("/api/runs/<run>/history")
@cached
def one_history(run: str) -> Response:
    """GET api/runs/<run>/history"""
    parameters = Parameters()
    tensor = parameters.required("tensor", _EXAMPLE)
    arguments = _filters(parameters)
    limit = parameters.count("limit", HISTORY_ROWS, low=2, high=MAX_HISTORY_ROWS)
    parameters.done()
    found = history(current_run(run), tensor, **arguments, limit=limit)
    answer = {"tensor": found.tensor, "graph": found.graph, "columns": found.columns}
    return json_response(answer | _thinned(found.thinned_from))


@blueprint.get("/api/runs/<run>/histograms")
@cached
def several_histograms(run: str) -> Response:
    """GET api/runs/<run>/histograms"""
    parameters = Parameters()
    tensor = parameters.required("tensor", _EXAMPLE)
    arguments = _filters(parameters) | ordered_range(parameters.number("low"), parameters.number("high"))
    arguments |= {
        "scale": parameters.choice("scale", ("symlog", "linear"), "symlog"),
        "bins": parameters.count("bins", BINS, low=1, high=MAX_BINS),
        "limit": parameters.count("limit", HISTOGRAM_ROWS, low=1, high=MAX_HISTOGRAM_ROWS),
        "merge_visits": parameters.choice("merge", ("visits",)) == "visits",
    }
    parameters.done()
    found = histograms(current_run(run), tensor, **arguments)
    return json_response(_series(found))


def _filters(parameters: Parameters) -> dict[str, Any]:
    texts = {name: parameters.text(name) for name in ("graph", "worker", "steps")}
    return texts | {"visit": parameters.integer("visit", None, low=0, high=2**31 - 1)}


def _thinned(rows: int | None) -> dict[str, int]:
    return {} if rows is None else {"thinned_from": rows}


def _series(found: HistogramSeries) -> dict[str, Any]:
    columns = [plain(getattr(found, name)) for name in _ROW_FIELDS]
    return {
        "tensor": found.tensor,
        "graph": found.graph,
        "edges": found.edges,
        "zero_bucket": found.zero_bucket,
        "approximate": found.approximate,
        "rows": [
            dict(zip(_ROW_FIELDS, row, strict=True)) | {"counts": counts}
            for *row, counts in zip(*columns, encode_rows(found.counts), strict=True)
        ],
    } | _thinned(found.thinned_from)
