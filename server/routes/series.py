"""Statistics over the steps: timelines of scopes, trends of nodes, history and histograms of one tensor."""

from __future__ import annotations

from typing import Any

from flask import Blueprint, Response

from tensortap.analysis.model_graph.roles import roles_of
from tensortap.core.names import tensor_name
from tensortap.index.catalog.columns import Texts
from tensortap.index.run_index import RunIndex
from tensortap.index.series.histograms import HistogramSeries, histograms
from tensortap.index.series.history import history
from tensortap.index.series.statistic_values import TIMELINE_STATISTICS
from tensortap.index.series.timeline import timeline
from tensortap.index.series.training_logs import scalar_logs, training_logs
from tensortap.index.series.trends import node_trends
from tensortap.index.series.worker_grid import GRID_STATISTICS, worker_grid

from ..log_reader import current_run
from ..response_cache import cached
from ..responses.columns_format import Column
from ..responses.error_responses import BadRequestError
from ..responses.json_arrays import encode_rows
from ..responses.json_encoding import plain
from ..responses.parameters import Parameters, ordered_range
from ..responses.responses import columns_response, json_response

blueprint = Blueprint("series", __name__)

ROWS, MAX_ROWS = 40, 1000
COLUMNS, MAX_COLUMNS = 600, 2000
PLACES, MAX_PLACES = 48, 200
MAX_NODES = 256
KINDS = ["node", "scope", "numbered", "rest"]
HISTORY_ROWS = 2000
MAX_HISTORY_ROWS = 20_000
HISTOGRAM_ROWS = 100
MAX_HISTOGRAM_ROWS = 500
LOG_ROWS, MAX_LOG_ROWS = 1000, 20_000
MAX_EPOCHS = 1000
GRID_STEPS, MAX_GRID_STEPS = 200, 2000
BINS = 60
MAX_BINS = 4096
_EXAMPLE = "dense/MatMul:0"
_ROW_FIELDS = ("step", "visit", "worker", "nan", "pos_inf", "neg_inf", "zero", "min", "max")


@blueprint.get("/api/runs/<run>/graphs/<graph>/timeline")
@cached
def one_timeline(run: str, graph: str) -> Response:
    """GET api/runs/<run>/graphs/<graph>/timeline"""
    parameters = Parameters()
    statistic = parameters.choice("statistic", TIMELINE_STATISTICS, "nan_share")
    scope = parameters.text("scope") or ""
    rows = parameters.count("rows", ROWS, low=1, high=MAX_ROWS)
    columns = parameters.count("columns", COLUMNS, low=1, high=MAX_COLUMNS)
    which = {name: parameters.text(name) for name in ("steps", "worker")}
    opened, closed = ((parameters.text(name) or "").split("\n") for name in ("opened", "closed"))
    parameters.done()
    found = timeline(
        current_run(run),
        graph,
        statistic,
        scope=scope,
        rows=rows,
        limit=MAX_ROWS,
        columns=columns,
        opened=opened,
        closed=closed,
        **which,
    )
    return columns_response(
        {"statistic": statistic, "scope": scope, "left_out": found.left_out},
        [
            Column("path", "utf8", Texts.of([row.path for row in found.rows])),
            Column("kind", "dict", [KINDS.index(row.kind) for row in found.rows], KINDS),
            Column("depth", "i32", [row.depth for row in found.rows]),
            Column("open", "u8", [row.is_open for row in found.rows]),
            Column("node", "utf8", Texts.of(found.node)),
            Column("nodes", "i32", found.nodes),
            Column("first_step", "f64", found.first),
            Column("last_step", "f64", found.last),
            Column("value", "f64", found.value),
            Column("health", "u8", found.health),
            Column("bad", "f64", found.bad),
            Column("step", "f64", found.step),
            Column("visit", "f64", found.visit),
            Column("tensor", "dict", found.tensor.codes, found.tensor.values),
        ],
    )


@blueprint.get("/api/runs/<run>/graphs/<graph>/trends")
@cached
def list_trends(run: str, graph: str) -> Response:
    """GET api/runs/<run>/graphs/<graph>/trends"""
    parameters = Parameters()
    nodes = _node_rows(parameters.required("nodes", "0,1,2"))
    statistic = parameters.choice("statistic", TIMELINE_STATISTICS, "abs_max")
    places = parameters.count("places", PLACES, low=1, high=MAX_PLACES)
    which = {name: parameters.text(name) for name in ("steps", "worker")}
    parameters.done()
    found = node_trends(current_run(run), graph, nodes, statistic, places=places, **which)
    return columns_response(
        {"statistic": statistic},
        [
            Column("node", "i32", found.node),
            Column("step", "f64", found.step),
            Column("value", "f64", found.value),
            Column("health", "u8", found.health),
        ],
    )


def _node_rows(text: str) -> list[int]:
    """`"0,2,2"` -> [0, 2]."""
    parts = text.split(",")
    if not all(part.isascii() and part.isdigit() and len(part) <= 9 for part in parts):
        raise BadRequestError(
            f"nodes={text[:80]} cannot be read.",
            "Use row numbers of nodes, e.g. nodes=0,1,2.",
        )
    nodes = list(dict.fromkeys(map(int, parts)))
    if len(nodes) > MAX_NODES:
        raise BadRequestError(
            f"{len(nodes)} nodes are too many for one request.", f"Request at most {MAX_NODES} at a time."
        )
    return nodes


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


@blueprint.get("/api/runs/<run>/workers")
@cached
def workers_of_tensor(run: str) -> Response:
    """GET api/runs/<run>/workers"""
    parameters = Parameters()
    tensor = parameters.required("tensor", _EXAMPLE)
    statistic = parameters.choice("statistic", GRID_STATISTICS, "mean")
    which = {name: parameters.text(name) for name in ("graph", "steps")}
    limit = parameters.count("limit", GRID_STEPS, low=2, high=MAX_GRID_STEPS)
    parameters.done()
    found = worker_grid(current_run(run), tensor, statistic, **which, limit=limit)
    head = {"tensor": found.tensor, "graph": found.graph, "statistic": statistic}
    return columns_response(
        head | {"of_steps": found.thinned_from or len(found.step), "rank": found.rank},
        [
            Column("step", "f64", found.step),
            Column("low", "f64", found.low),
            Column("median", "f64", found.median),
            Column("high", "f64", found.high),
            Column("worker", "utf8", Texts.of(found.worker)),
            Column("differing", "i32", found.differing),
            Column("first_differing", "f64", found.first_differing),
            Column("missing", "i32", found.missing),
            Column("value", "f64", found.value.ravel()),
            Column("captured", "u8", found.captured.ravel()),
        ],
    )


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


@blueprint.get("/api/runs/<run>/logs")
@cached
def logs_of_training(run: str) -> Response:
    """GET api/runs/<run>/logs"""
    parameters = Parameters()
    graph = parameters.text("graph")
    phase = parameters.choice("phase", ("train", "test"), "train")
    limit = parameters.count("limit", LOG_ROWS, low=2, high=MAX_LOG_ROWS)
    parameters.done()
    index = current_run(run)
    found = training_logs(index, phase=phase, limit=limit)
    loss = _captured_loss(index, graph) if graph and phase == "train" and not found.rows else None
    if graph and loss:
        found = scalar_logs(index, loss, graph, limit=limit)
    answer = {
        "tensor": loss,
        "step": [row.step for row in found.rows],
        "epoch": [row.epoch for row in found.rows],
        "values": {name: found.column(name) for name in found.names},
        "epochs": [
            {"epoch": logs.epoch, "step": logs.step, "values": logs.values}
            for logs in found.epochs[-MAX_EPOCHS:]
        ],
    }
    return json_response(answer | _thinned(found.thinned_from))


def _captured_loss(run: RunIndex, graph_id: str) -> str | None:
    """The loss tensor of a graph; None if it is unknown or was not captured."""
    graph, tensors = run.graph(graph_id), run.catalog.tensors
    row = roles_of(graph).loss
    name = None if row is None else tensor_name(graph.names[row], 0)
    return name if name and graph_id in map(tensors.graph_of, tensors.named(name)) else None


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
