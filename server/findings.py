"""What rules found in a run, where its NaNs were born, and its ledger of dead layers."""

from __future__ import annotations

from typing import Any

from flask import Blueprint, Flask, Response, current_app

from tensortap.analysis import (
    NanReport,
    Settings,
    check_rules,
    dead_layer_ledger,
    nan_report,
    place_text,
    with_mutes,
)
from tensortap.dump import NotFoundError
from tensortap.index import RunIndex

from .background import Background, Job
from .live import current_run
from .parameters import Parameters
from .replies import json_reply
from .wire import plain

blueprint = Blueprint("findings", __name__)
_KEY = "tensortap-analysis"


def install(app: Flask) -> None:
    """Gives `app` the thread that analyses runs."""
    app.extensions[_KEY] = Background()


def ask(run: RunIndex, what: str, version: object, work: Any) -> Job:
    """What the analysing thread knows of a piece of work on a run."""
    background: Background = current_app.extensions[_KEY]
    return background.ask(f"{run.id}/{run.generation}/{what}", version, work)


def _ask(run: RunIndex, what: str, work: Any) -> Job:
    return ask(run, what, (run.generation, run.catalog.rows), work)


def job_state(job: Job) -> dict[str, Any]:
    """How far it is, as answers say it."""
    return {
        "working": job.working or job.waiting,
        "progress": {"done": job.done, "total": job.total, "doing": job.doing},
        "error": job.error or None,
    }


@blueprint.get("/api/runs/<run>/findings")
def list_findings(run: str) -> Response:
    """GET api/runs/<run>/findings"""
    Parameters().done()
    found = current_run(run)
    job = _ask(
        found, "findings", lambda advance: check_rules(found, with_mutes(found, Settings()), progress=advance)
    )
    result = job.result
    return json_reply(
        job_state(job)
        | {
            "findings": [] if result is None else result.findings,
            "failed": {} if result is None else result.failed,
            "rules": 0 if result is None else result.rules,
            "snapshots": 0 if result is None else result.rows,
        }
    )


@blueprint.get("/api/runs/<run>/nan")
def nan_births(run: str) -> Response:
    """GET api/runs/<run>/nan"""
    parameters = Parameters()
    step = parameters.integer("step")
    parameters.done()
    found = current_run(run)
    if step is not None and found.catalog.steps.code(step) is None:
        raise NotFoundError(f"The run has no snapshot at step {step}.", "See the steps of the run.")
    job = _ask(found, f"nan/{step}", lambda advance: nan_report(found, step))
    report: NanReport | None = job.result
    return json_reply(job_state(job) | {"report": None if report is None else _with_places(report)})


def _with_places(report: NanReport) -> dict[str, Any]:
    """The report, each element with its place in words."""
    answer: dict[str, Any] = plain(report)
    for birth, told in zip(report.births, answer["births"], strict=True):
        for trace, row in zip(birth.elements, told["elements"], strict=True):
            for element, entry in zip(trace.trail, row["trail"], strict=True):
                entry["place"] = place_text(element, trace.row)
    return answer


@blueprint.get("/api/runs/<run>/ledger")
def ledger(run: str) -> Response:
    """GET api/runs/<run>/ledger"""
    Parameters().done()
    found = current_run(run)
    job = _ask(found, "ledger", lambda advance: dead_layer_ledger(found))
    return json_reply(job_state(job) | {"entries": job.result or []})
