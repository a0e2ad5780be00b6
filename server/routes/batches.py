"""Batches: which samples fed a step, and which steps a sample or file fed."""

from __future__ import annotations

from flask import Blueprint, Response

from ..log_reader import current_run
from ..responses.parameters import Parameters
from ..responses.responses import json_response

blueprint = Blueprint("batches", __name__)

PAGE = 20
MAX_PAGE = 1000


@blueprint.get("/api/runs/<run>/batch")
def one_step(run: str) -> Response:
    """GET api/runs/<run>/batch"""
    parameters = Parameters()
    parameters.required("step", "7")
    step = parameters.count("step", 0, high=2**63 - 1)
    parameters.done()
    return json_response({"step": step, "batches": current_run(run).events.batches(step)})


@blueprint.get("/api/runs/<run>/batches")
def steps_of(run: str) -> Response:
    """GET api/runs/<run>/batches"""
    parameters = Parameters()
    id, file = parameters.text("id"), parameters.text("file")
    parameters.done()
    return json_response({"steps": current_run(run).events.steps_of(id=id, file=file)})


@blueprint.get("/api/runs/<run>/samples")
def samples(run: str) -> Response:
    """GET api/runs/<run>/samples"""
    parameters = Parameters()
    part = parameters.text("part") or ""
    files = parameters.choice("of", ("ids", "files"), "files") == "files"
    limit = parameters.count("limit", PAGE, low=1, high=MAX_PAGE)
    parameters.done()
    total, rows = current_run(run).events.samples(part, files=files, limit=limit)
    return json_response({"total": total, "rows": rows})
