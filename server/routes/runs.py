"""Runs: the list, changes, one run, and the samples of its steps."""

from __future__ import annotations

from dataclasses import asdict
from importlib.metadata import version
from typing import Any

from flask import Blueprint, Response

from tensortap.analysis.compare.similar_runs import most_similar_run
from tensortap.index.catalog.decode import STATISTICS_COLUMNS
from tensortap.index.graph_store import GraphOverview
from tensortap.index.logdir_index import LogIndex
from tensortap.index.run_overview import RunOverview

from ..log_reader import current_log, current_run, unreadable_folders
from ..response_cache import cached
from ..responses.parameters import Parameters
from ..responses.responses import json_response

blueprint = Blueprint("runs", __name__)
VERSION = version("tensortap")
MAX_EVENTS = 1000
SAMPLES, MAX_SAMPLES = 20, 1000


@blueprint.get("/api/runs")
def list_runs() -> Response:
    """GET api/runs"""
    Parameters().done()
    log = current_log()
    cursor = log.cursor  # before the list: changes in between are reported again
    overviews = [
        _with_steps(run.overview()) | {"damaged": bool(run.damage), "logdir": log.logdir_of(run)}
        for run in log.runs
    ]
    return json_response(
        {"logdir": log.name, "version": VERSION, "cursor": cursor, "runs": overviews} | _reading_progress(log)
    )


@blueprint.get("/api/changes")
def changes() -> Response:
    """GET api/changes"""
    parameters = Parameters()
    since = parameters.text("since")
    parameters.done()
    log = current_log()
    found = log.changes(since)
    changed = {key: _change(run) for key, run in found.runs.items()}
    return json_response({"cursor": found.cursor, "runs": changed} | _reading_progress(log))


@blueprint.get("/api/runs/<run>")
@cached
def one_run(run: str) -> Response:
    """GET api/runs/<run>"""
    parameters = Parameters()
    graph = parameters.text("graph")
    parameters.done()
    found = current_run(run)
    graphs = found.graphs  # first: reading them may find damage
    return json_response(
        {
            "id": found.id,
            "name": found.name,
            "info": found.info,
            "created": found.created,
            "damage": found.missing_data,
            "workers": list(found.workers),
            "graphs": [_with_steps(graph) for graph in graphs],
            "steps": found.steps if graph is None else found.steps_of(graph),
            "statistics": list(STATISTICS_COLUMNS),
            "events": found.events.events()[-MAX_EVENTS:],
            "batches": _span(found.events.batch_steps),
        }
    )


@blueprint.get("/api/runs/<run>/most-similar")
def find_most_similar_run(run: str) -> Response:
    """GET api/runs/<run>/most-similar"""
    Parameters().done()
    found = most_similar_run(current_run(run), current_log().runs)
    other, common = found or (None, 0)
    return json_response({"run": other.id if other else None, "common": common})


@blueprint.get("/api/runs/<run>/graphs")
@cached
def list_graphs(run: str) -> Response:
    """GET api/runs/<run>/graphs"""
    Parameters().done()
    return json_response({"graphs": [_with_steps(graph) for graph in current_run(run).graphs]})


def _reading_progress(log: LogIndex) -> dict[str, Any]:
    return {
        "reading": {run_id: {"done": done, "total": size} for run_id, (done, size) in log.reading.items()},
        "unread": unreadable_folders(log),
        "unread_count": len(log.unread),
    }


def _with_steps(overview: RunOverview | GraphOverview) -> dict[str, Any]:
    fields = asdict(overview)
    steps = {
        "first": fields.pop("first_step"),
        "last": fields.pop("last_step"),
        "count": fields.pop("step_count"),
    }
    return fields | {"steps": steps}


def _span(steps: list[int]) -> dict[str, int | None]:
    return {"first": min(steps, default=None), "last": max(steps, default=None), "count": len(steps)}


def _change(run: RunOverview | None) -> dict[str, Any] | None:
    if run is None:
        return None
    fields = asdict(run)
    return {name: fields[name] for name in ("snapshots", "graphs", "last_step", "live", "closed")}


@blueprint.get("/api/runs/<run>/batch")
def batches_of_step(run: str) -> Response:
    """GET api/runs/<run>/batch"""
    parameters = Parameters()
    parameters.required("step", "7")
    step = parameters.count("step", 0, high=2**63 - 1)
    parameters.done()
    return json_response({"step": step, "batches": current_run(run).events.batches(step)})


@blueprint.get("/api/runs/<run>/batches")
def steps_of_sample(run: str) -> Response:
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
    limit = parameters.count("limit", SAMPLES, low=1, high=MAX_SAMPLES)
    parameters.done()
    total, rows = current_run(run).events.samples(part, files=files, limit=limit)
    return json_response({"total": total, "rows": rows})
