"""Trends of nodes: how a statistic of each moves over the steps, for those that a page shows, as columns."""

from __future__ import annotations

from flask import Blueprint, Response

from tensortap.index.series.node_trends import node_trends
from tensortap.index.series.snapshot_values import TIMELINE_STATISTICS

from ..log_reader import current_run
from ..response_cache import shared
from ..responses.columns_format import Column
from ..responses.error_responses import BadRequestError
from ..responses.parameters import Parameters
from ..responses.responses import columns_reply

blueprint = Blueprint("node_trends", __name__)

PLACES, MAX_PLACES = 48, 200
MAX_NODES = 256


@blueprint.get("/api/runs/<run>/graphs/<graph>/trends")
@shared
def trends_of_nodes(run: str, graph: str) -> Response:
    """GET api/runs/<run>/graphs/<graph>/trends"""
    parameters = Parameters()
    nodes = _nodes(parameters.required("nodes", "0,1,2"))
    statistic = parameters.choice("statistic", TIMELINE_STATISTICS, "abs_max") or ""
    places = parameters.count("places", PLACES, low=1, high=MAX_PLACES)
    which = {name: parameters.text(name) for name in ("steps", "worker")}
    parameters.done()
    found = node_trends(current_run(run), graph, nodes, statistic, places=places, **which)
    return columns_reply(
        {"statistic": statistic},
        [
            Column("node", "i32", found.node),
            Column("step", "f64", found.step),
            Column("value", "f64", found.value),
            Column("health", "u8", found.health),
        ],
    )


def _nodes(text: str) -> list[int]:
    """Row numbers, each once."""
    parts = text.split(",")
    if not all(part.isascii() and part.isdigit() and len(part) <= 9 for part in parts):
        raise BadRequestError(
            f"nodes={text[:80]} cannot be read.",
            "Use the nodes' row numbers in the graph, as in nodes=0,1,2.",
        )
    nodes = list(dict.fromkeys(map(int, parts)))
    if len(nodes) > MAX_NODES:
        raise BadRequestError(f"{len(nodes)} nodes are too many.", f"Ask for {MAX_NODES} at a time.")
    return nodes
