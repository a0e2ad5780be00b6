"""What rules found in a run, where its NaNs were born, and its ledger of dead layers."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from flask import Blueprint, Flask, Response, current_app

from tensortap.analysis.nonfinite.elements.element_names import place_text
from tensortap.analysis.nonfinite.nan_report import NanReport
from tensortap.analysis.rules.mutes import mutes_of
from tensortap.core.errors import NotFoundError
from tensortap.index.run_index import RunIndex

from ..jobs import analysis_jobs
from ..jobs.analysis_jobs import ask, job_state
from ..jobs.job_queue import Job
from ..log_reader import current_run
from ..responses.json_encoding import plain
from ..responses.parameters import Parameters
from ..responses.responses import json_reply
from ..rule_file import RuleFile

__all__ = ["blueprint", "install"]

blueprint = Blueprint("findings", __name__)
_KEY = "tensortap-rules"


def install(app: Flask, rules: Path | None) -> None:
    """Gives `app` what analyses runs, and the file of rule settings (None: there is none)."""
    analysis_jobs.install(app)
    app.extensions[_KEY] = RuleFile(rules)


def _ask(
    run: RunIndex,
    what: str,
    options: Mapping[str, Any],
    *,
    cancel: bool,
    key: object = "",
    grown: object = None,
) -> Job:
    """An analysis of one run. `key`: tells it apart from others of its kind; `grown`: what makes it due
    again, by default any snapshot."""
    rows = run.catalog.rows if grown is None else grown
    return ask((run,), what, f"{what}/{key}", (run.generation, rows), options, cancel=cancel)


@blueprint.get("/api/runs/<run>/findings")
def list_findings(run: str) -> Response:
    """GET api/runs/<run>/findings"""
    parameters = Parameters()
    cancel = parameters.flag("cancel")
    parameters.done()
    found = current_run(run)
    file: RuleFile = current_app.extensions[_KEY]
    rules, mute = file.read(), mutes_of(found)
    job = _ask(
        *(found, "findings", {"mute": mute, "table": rules.table}),
        cancel=cancel,
        key=(rules.read, mute),  # changed rules are applied at once, however long the last ones took
    )
    result = job.result
    return json_reply(
        job_state(job)
        | {
            "findings": [] if result is None else result.findings,
            "failed": {} if result is None else result.failed,
            "rules": 0 if result is None else result.rules,
            "left_out": {} if result is None else result.left_out,
            "raised": [] if result is None else result.raised,
            "snapshots": 0 if result is None else result.rows,
            "rules_file": rules.told,
        }
    )


@blueprint.get("/api/runs/<run>/nan")
def nan_births(run: str) -> Response:
    """GET api/runs/<run>/nan"""
    parameters = Parameters()
    step, cancel = parameters.integer("step"), parameters.flag("cancel")
    parameters.done()
    found = current_run(run)
    code = None if step is None else found.catalog.steps.code(step)
    if step is not None and code is None:
        raise NotFoundError(f"The run has no snapshot at step {step}.", "See the steps of the run.")
    grown = None if code is None else len(found.catalog.rows_of_step(code))
    job = _ask(found, "nan", {"step": step}, cancel=cancel, key=step, grown=grown)
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
    parameters = Parameters()
    cancel = parameters.flag("cancel")
    parameters.done()
    job = _ask(current_run(run), "ledger", {}, cancel=cancel)
    return json_reply(job_state(job) | {"entries": job.result or []})
