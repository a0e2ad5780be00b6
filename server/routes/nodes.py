"""Nodes and the source text their stacks point to."""

from __future__ import annotations

from flask import Blueprint, Response

from tensortap.index.query.node_detail import node_detail
from tensortap.index.query.source_lines import embedded_source, source_map

from ..log_reader import current_run
from ..responses.parameters import Parameters
from ..responses.responses import json_response

blueprint = Blueprint("nodes", __name__)


@blueprint.get("/api/runs/<run>/nodes/<name:node>")
def one_node(run: str, node: str) -> Response:
    """GET api/runs/<run>/nodes/<node>"""
    return _detail(run, node, Parameters())


@blueprint.get("/api/runs/<run>/nodes")
def named_node(run: str) -> Response:
    """GET api/runs/<run>/nodes: for names that a browser would normalise in a path (`a/../b`)."""
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
