"""Snapshots: rows of the catalog, filtered, sorted, a page at a time."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from flask import Blueprint, Response

from tensortap.index import Snapshot, snapshots

from .live import current_run
from .parameters import Parameters
from .replies import json_reply

blueprint = Blueprint("snapshots", __name__)

PAGE = 100
MAX_PAGE = 1000
_FILTERS = ("graph", "worker", "node", "tensor", "match", "op_type", "layer", "dtype", "where")
_FIELDS = [field.name for field in fields(Snapshot) if field.name != "row"]  # row: a number inside the index


@blueprint.get("/api/runs/<run>/snapshots")
def list_snapshots(run: str) -> Response:
    """GET api/runs/<run>/snapshots"""
    parameters = Parameters()
    filters: dict[str, Any] = {name: parameters.text(name) for name in _FILTERS}
    filters |= {
        "steps": parameters.text("step"),
        "nonfinite": parameters.flag("nonfinite"),
        "kept": parameters.flag("kept"),
        "sort": parameters.text("sort") or "step",
        "limit": parameters.count("limit", PAGE, high=MAX_PAGE),
        "offset": parameters.count("offset", 0, high=2**31),
    }
    parameters.done()
    page = snapshots(current_run(run), **filters)
    return json_reply({"total": page.total, "rows": [_row(snapshot) for snapshot in page.rows]})


def _row(snapshot: Snapshot) -> dict[str, object]:
    return {name: getattr(snapshot, name) for name in _FIELDS}
