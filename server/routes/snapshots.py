"""Snapshots: rows of the catalog, filtered, sorted, a page at a time."""

from __future__ import annotations

from typing import Any

from flask import Blueprint, Response

from tensortap.core.errors import DamagedError, SelectionError
from tensortap.index.missing_values import no_value
from tensortap.index.query.search import snapshot_place, snapshots, undecided
from tensortap.index.run_index import RunIndex
from tensortap.index.series.histogram_bins import Binned
from tensortap.index.series.histograms import snapshot_histograms
from tensortap.index.series.trends import trends
from tensortap.index.snapshot import Snapshot
from tensortap.index.values import stored_sample, unverified_parts

from ..log_reader import current_run
from ..response_cache import cached
from ..responses.json_arrays import encode_rows
from ..responses.parameters import Parameters
from ..responses.responses import json_response

blueprint = Blueprint("snapshots", __name__)

PAGE = 100
MAX_PAGE = 1000
_FILTERS = ("graph", "worker", "node", "tensor", "match", "op_type", "layer", "dtype", "where")


@blueprint.get("/api/runs/<run>/snapshots")
@cached
def list_snapshots(run: str) -> Response:
    """GET api/runs/<run>/snapshots"""
    parameters = Parameters()
    filters: dict[str, Any] = {name: parameters.text(name) for name in _FILTERS}
    filters |= {
        "steps": parameters.text("step"),
        "nonfinite": parameters.flag("nonfinite") or None,
        "kept": parameters.flag("kept") or None,
        "sort": parameters.text("sort") or "step",
    }
    limit = parameters.count("limit", PAGE, high=MAX_PAGE)
    offset = parameters.count("offset", 0, high=2**31)
    at, at_step = parameters.text("at"), parameters.count("at_step", 0, high=2**63 - 1)
    trend, with_samples = parameters.text("trend"), parameters.flag("samples")
    with_histograms = parameters.flag("histograms")
    lenient = parameters.flag("lenient")
    parameters.done()
    found = current_run(run)
    refused = {}
    try:
        page = snapshots(found, **filters, limit=limit, offset=offset)
    except SelectionError as error:
        if not lenient or filters["where"] is None:
            raise
        filters["where"], refused = None, {"refused": error.message}
        page = snapshots(found, **filters, limit=limit, offset=offset)
    sort = filters.pop("sort")
    rows = [_row(found, snapshot) for snapshot in page.rows]
    if trend is not None:
        lines = trends(found, page.rows, trend, worker=filters["worker"])
        rows = [row | {"trend": line} for row, line in zip(rows, lines, strict=True)]
    if with_samples:
        rows = [row | _stored_form(found, s) for row, s in zip(rows, page.rows, strict=True)]
    if with_histograms:
        drawn = snapshot_histograms(found, page.rows)
        rows = [row | {"histogram": _histogram(binned)} for row, binned in zip(rows, drawn, strict=True)]
    place = {} if at is None else {"place": snapshot_place(found, at, at_step, sort=sort, **filters)}
    unknown = undecided(found, **filters)
    return json_response(
        {"total": page.total, "rows": rows} | place | refused | ({"undecided": unknown} if unknown else {})
    )


def _row(run: RunIndex, snapshot: Snapshot) -> dict[str, object]:
    graph = run.graph(snapshot.graph)
    node = graph.rows.get(snapshot.node)
    texts = {name: "" if node is None else getattr(graph, name)[node] for name in ("op_type", "layer")}
    return snapshot.as_dict() | texts


def _histogram(binned: Binned) -> dict[str, object]:
    return {
        "edges": binned.edges,
        "counts": encode_rows(binned.counts)[0],
        "zero_bucket": binned.zero_bucket,
    }


def _stored_form(run: RunIndex, snapshot: Snapshot) -> dict[str, object]:
    """Which elements are stored, whether parts can be verified, and why there are none. Damage is reported
    with the value itself."""
    words = no_value(snapshot.no_value, run.catalog.source) if snapshot.no_value else None
    missing: dict[str, object] = {"missing": words and words._asdict()}
    try:
        return missing | {
            "sample": stored_sample(run, snapshot),
            "unverified": unverified_parts(run, snapshot),
        }
    except DamagedError:
        return missing | {"sample": None, "unverified": ""}
