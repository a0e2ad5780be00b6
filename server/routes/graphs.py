"""Graphs: all nodes and edges of one, the statistics of one step, one node, and the source of nodes."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from flask import Blueprint, Response

from tensortap.core.records import LayerCall
from tensortap.index.catalog.columns import Coded
from tensortap.index.graph.edges import Edges
from tensortap.index.graph.graph_index import GraphIndex, shape_text
from tensortap.index.query.node_detail import node_detail
from tensortap.index.query.source_lines import embedded_source, source_map
from tensortap.index.series.histograms import step_histograms
from tensortap.index.series.statistic_values import TIMELINE_STATISTICS
from tensortap.index.series.step_statistics import statistic_range, step_statistics

from ..log_reader import current_run
from ..response_cache import cached
from ..responses.columns_format import CONTENT_TYPE, Column, write_columns
from ..responses.error_responses import BadRequestError
from ..responses.parameters import Parameters
from ..responses.responses import PackedResponse, columns_response, json_response, packed_response

blueprint = Blueprint("graphs", __name__)

_CODED = ("op_type", "device", "layer", "function", "dtype", "shape", "kind", "variable")
BINS, MAX_BINS = 24, 100
MAX_TENSORS = 256
_INPUT_OPS = ("IteratorGetNext", "OptionalGetValue", "IteratorGetNextSync")
# These graphs never change, and encoding a large one takes half a second.
_ENCODED: WeakKeyDictionary[GraphIndex, PackedResponse] = WeakKeyDictionary()
_LOCK = threading.Lock()
_EDGE_TYPES = {"source": "i32", "target": "i32", "slot": "i32", "input": "i32", "control": "u8"}
_ARRAY_TYPES = {"i": "i32", "u": "u8", "f": "f64"}


@blueprint.get("/api/runs/<run>/graphs/<graph>")
def one_graph(run: str, graph: str) -> Response:
    """GET api/runs/<run>/graphs/<graph>"""
    Parameters().done()
    return packed_response(encoded_graph(current_run(run).graph(graph)))


def encoded_graph(found: GraphIndex) -> PackedResponse:
    """All of a graph as columns, encoded and compressed once, by the first request."""
    with _LOCK:  # two requests at once must not both encode it
        answer = _ENCODED.get(found)
        if answer is None:
            answer = _ENCODED[found] = PackedResponse.of(_encode(found), CONTENT_TYPE)
    return answer


def _encode(found: GraphIndex) -> bytes:
    functions = {
        name: {
            "caller": info.caller,
            "role": info.role,
            "parent": info.parent,
            "returns": [number for tensor in found.returned(name) for number in tensor],
        }
        for name, info in found.functions.items()
    }
    edges = found.edges
    meta = {
        "id": found.id,
        "name": found.name,
        "nodes": len(found),
        "edges": len(edges.source),
        "functions": functions,
        "frozen": found.frozen_variables,
        "replicas": found.replicas,
        "slot_shapes": _slot_shapes(found),
        "layers": [_layer(call) for call in found.layer_calls],
        "damage": found.damage,
    }
    return write_columns(meta, [*_node_columns(found), *_edge_columns(edges)])


def _layer(call: LayerCall) -> dict[str, Any]:
    return {
        "path": call.path,
        "class": call.class_name,
        "module": call.module,
        "parameters": call.parameters,
        "config": call.config,
        "source": None if call.source is None else {"file": call.source[0], "line": call.source[1]},
    }


def _slot_shapes(found: GraphIndex) -> dict[int, list[str]]:
    """Row -> shapes of all outputs, for the nodes that are inputs of a step."""
    wanted = [code for code, op_type in enumerate(found.op_type.values) if op_type in _INPUT_OPS]
    rows = np.flatnonzero(np.isin(found.op_type.codes, wanted) & (found.slots > 1))
    return {row: [shape_text(shape) for _, shape in found.slot_texts(row)] for row in rows.tolist()}


@blueprint.get("/api/runs/<run>/graphs/<graph>/steps/<int(max=9223372036854775807):step>")
@cached
def one_step(run: str, graph: str, step: int) -> Response:
    """GET api/runs/<run>/graphs/<graph>/steps/<step>"""
    parameters = Parameters()
    worker = parameters.text("worker")
    parameters.done()
    found = step_statistics(current_run(run), graph, step, worker=worker)
    return columns_response(
        {"step": found.step}, (_column(name, data) for name, data in found.columns.items())
    )


@blueprint.get("/api/runs/<run>/graphs/<graph>/steps/<int(max=9223372036854775807):step>/histograms")
@cached
def histograms_of_step(run: str, graph: str, step: int) -> Response:
    """GET api/runs/<run>/graphs/<graph>/steps/<step>/histograms"""
    parameters = Parameters()
    tensors = _tensors(parameters.required("tensors", "0:0,1:0"))
    bins = parameters.count("bins", BINS, low=2, high=MAX_BINS)
    worker = parameters.text("worker")
    parameters.done()
    found = step_histograms(current_run(run), graph, step, tensors, bins=bins, worker=worker)
    return columns_response(
        {"step": step, "bins": bins},
        [
            Column("node", "i32", found.node),
            Column("slot", "i32", found.slot),
            Column("low", "f64", found.low),
            Column("high", "f64", found.high),
            Column("counts", "f64", found.counts.ravel()),
        ],
    )


def _tensors(text: str) -> list[tuple[int, int]]:
    """`"0:0,2:1"` -> [(0, 0), (2, 1)]."""
    if not re.fullmatch(r"\d{1,9}:\d{1,9}(,\d{1,9}:\d{1,9})*", text, re.ASCII):
        raise BadRequestError(
            f"tensors={text[:80]} cannot be read.",
            "Use row numbers of nodes and output slots, e.g. tensors=0:0,7:1.",
        )
    tensors = [(int(row), int(slot)) for row, _, slot in (part.partition(":") for part in text.split(","))]
    if len(tensors) > MAX_TENSORS:
        raise BadRequestError(
            f"{len(tensors)} tensors are too many for one request.",
            f"Request at most {MAX_TENSORS} at a time.",
        )
    return tensors


@blueprint.get("/api/runs/<run>/graphs/<graph>/range")
@cached
def range_over_steps(run: str, graph: str) -> Response:
    """GET api/runs/<run>/graphs/<graph>/range"""
    parameters = Parameters()
    statistic = parameters.choice("statistic", TIMELINE_STATISTICS, "abs_max")
    worker = parameters.text("worker")
    parameters.done()
    return json_response(statistic_range(current_run(run), graph, statistic, worker=worker))


def _node_columns(graph: GraphIndex) -> Iterator[Column]:
    yield Column("name", "utf8", graph.name_texts)
    yield Column("path", "utf8", graph.path_texts)
    for name in _CODED:
        yield _column(name, getattr(graph, name))
    yield Column("slots", "i32", graph.slots)


def _edge_columns(edges: Edges) -> Iterator[Column]:
    for name, kind in _EDGE_TYPES.items():
        yield Column(f"edge_{name}", kind, getattr(edges, name))


def _column(name: str, data: Coded | np.ndarray) -> Column:
    """int32, uint8 and float64 arrays are sent unchanged; int64 as f64, exact up to 2^53."""
    if isinstance(data, Coded):
        return Column(name, "dict", data.codes, data.values)
    wide = data.dtype.kind == "i" and data.dtype.itemsize > 4
    return Column(name, "f64" if wide else _ARRAY_TYPES[data.dtype.kind], data)


@blueprint.get("/api/runs/<run>/nodes/<name:node>")
def one_node(run: str, node: str) -> Response:
    """GET api/runs/<run>/nodes/<node>"""
    return _detail(run, node, Parameters())


@blueprint.get("/api/runs/<run>/nodes")
def named_node(run: str) -> Response:
    """GET api/runs/<run>/nodes: for names that a browser would normalize in a path (`a/../b`)."""
    parameters = Parameters()
    return _detail(run, parameters.required("node", "dense/MatMul"), parameters)


@blueprint.get("/api/runs/<run>/source")
def source_text(run: str) -> Response:
    """GET api/runs/<run>/source"""
    parameters = Parameters()
    file = parameters.required("file", "train.py")
    parameters.done()
    return json_response({"file": file, "text": embedded_source(current_run(run), file)})


@blueprint.get("/api/runs/<run>/graphs/<graph>/sources")
def graph_sources(run: str, graph: str) -> Response:
    """GET api/runs/<run>/graphs/<graph>/sources"""
    Parameters().done()
    return json_response(source_map(current_run(run), graph))


def _detail(run: str, node: str, parameters: Parameters) -> Response:
    graph = parameters.text("graph")
    parameters.done()
    return json_response(node_detail(current_run(run), node, graph=graph))
