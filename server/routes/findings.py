"""Routes about faults of a run: problems, findings, origins of NaN, zero gradients, lost updates.

The rules' settings come from a file that is read again whenever it changes.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from flask import Blueprint, Flask, Response, current_app

from tensortap.analysis.nonfinite.nan_report import NanReport
from tensortap.analysis.nonfinite.report_text import element_text, place_text, report_text
from tensortap.analysis.overview import problems
from tensortap.analysis.rules.muted_findings import mutes_of
from tensortap.analysis.rules.registry import all_rules
from tensortap.analysis.rules.settings import parse_settings, read_table
from tensortap.core.errors import NotFoundError, TensortapError
from tensortap.index.run_index import RunIndex

from ..jobs import analysis_jobs
from ..jobs.analysis_jobs import analysis_state, ask, found_by
from ..jobs.job_queue import Job
from ..log_reader import current_run
from ..response_cache import cached
from ..responses.json_encoding import plain
from ..responses.parameters import Parameters
from ..responses.responses import json_response

__all__ = ["blueprint", "install"]

blueprint = Blueprint("findings", __name__)
_KEY = "tensortap-rules"


def install(app: Flask, rules: Path | None) -> None:
    """Adds analysis jobs and a file of rule settings (None: no file) to `app`."""
    analysis_jobs.install(app)
    app.extensions[_KEY] = RuleFile(rules)


def _ask(
    run: RunIndex,
    what: str,
    options: Mapping[str, Any],
    *,
    cancel: bool,
    key: object = "",
    size: object = None,
) -> Job:
    """The job of an analysis of one run.

    Args:
        key: distinguishes analyses of one kind.
        size: the analysis is repeated when this changes; by default the number of snapshots.
    """
    rows = run.catalog.rows if size is None else size
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
        key=(rules.version, mute),  # changed rules are applied at once, without the usual pause
    )
    result = found_by(job)
    return json_response(
        analysis_state(job, found)
        | {
            "findings": [] if result is None else result.findings,
            "failed": {} if result is None else result.failed,
            "rules": 0 if result is None else result.rules,
            "left_out": {} if result is None else result.left_out,
            "raised": [] if result is None else result.raised,
            "snapshots": 0 if result is None else result.rows,
            "rules_file": rules.status,
        }
    )


@blueprint.get("/api/runs/<run>/nan")
def nan_origins(run: str) -> Response:
    """GET api/runs/<run>/nan"""
    parameters = Parameters()
    step, cancel = parameters.integer("step"), parameters.flag("cancel")
    parameters.done()
    found = current_run(run)
    code = None if step is None else found.catalog.steps.code(step)
    if step is not None and code is None:
        raise NotFoundError(f"The run has no snapshot at step {step}.", "List its steps with api/runs/<run>.")
    size = None if code is None else len(found.catalog.rows_of_step(code))
    job = _ask(found, "nan", {"step": step}, cancel=cancel, key=step, size=size)
    report: NanReport | None = found_by(job)
    return json_response(
        analysis_state(job, found) | {"report": None if report is None else _report_fields(report)}
    )


def _report_fields(report: NanReport) -> dict[str, Any]:
    """The report as JSON, with its texts; each element with its place in words."""
    fields: dict[str, Any] = plain(report)
    text = report_text(report)
    fields |= {"goal": text.goal, "more": text.more, "summary": text.summary}
    texts = zip((*report.origins, *report.demoted), (*text.origins, *text.demoted), strict=True)
    for entry, (origin, words) in zip((*fields["origins"], *fields["demoted"]), texts, strict=True):
        entry |= {"kind": words.kind, "title": words.title, "reason": words.reason}
        entry["output"]["text"] = words.output
        for operand, numbers in zip(entry["inputs"], words.inputs, strict=True):
            operand["text"] = numbers
        for trace, trace_fields in zip(origin.elements, entry["elements"], strict=True):
            for element, element_fields in zip(trace.trail, trace_fields["trail"], strict=True):
                element_fields["place"] = place_text(element, trace.row)
                element_fields["text"] = element_text(element, trace.row)
    return fields


@blueprint.get("/api/runs/<run>/ledger")
def ledger(run: str) -> Response:
    """GET api/runs/<run>/ledger"""
    parameters = Parameters()
    cancel = parameters.flag("cancel")
    parameters.done()
    found = current_run(run)
    job = _ask(found, "ledger", {}, cancel=cancel)
    return json_response(analysis_state(job, found) | {"entries": found_by(job) or []})


@blueprint.get("/api/runs/<run>/problems")
@cached
def list_problems(run: str) -> Response:
    """GET api/runs/<run>/problems"""
    Parameters().done()
    return json_response(problems(current_run(run)))


@dataclass(frozen=True, slots=True)
class Rules:
    """Rule settings of a file.

    Attributes:
        table: as `parse_settings` takes it. version: how often usable settings were read.
        status: the file's name and its error, as answers report them; None without a file.
    """

    table: Mapping[str, Any] = field(default_factory=dict)
    version: int = 0
    status: Mapping[str, str | None] | None = None


class RuleFile:
    """Reads a file again whenever it has changed; thread-safe.

    While it is unreadable or invalid, the previous settings stay active.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._state: tuple[int, int, int] | None = None
        self._rules = Rules()
        self._lock = threading.Lock()

    def read(self) -> Rules:
        """The current settings."""
        if self._path is None:
            return self._rules
        with self._lock:
            try:
                found = self._path.stat()
                state = (found.st_mtime_ns, found.st_size, found.st_ino)
                if state != self._state:
                    self._state = state
                    self._apply(read_table(self._path))
            except TensortapError as error:
                self._report(error.message, error.hint)
            except OSError as error:
                self._state = None
                self._report(f"{self._path.name} cannot be read: {error.strerror or 'unknown error'}.", "")
            return self._rules

    def _apply(self, table: Mapping[str, Any]) -> None:
        assert self._path is not None
        parse_settings(table).apply(all_rules())
        status = {"name": self._path.name, "error": None, "hint": ""}
        self._rules = Rules(table, self._rules.version + 1, status)

    def _report(self, message: str, hint: str) -> None:
        assert self._path is not None
        message = message.replace(str(self._path), self._path.name)
        status = {"name": self._path.name, "error": message, "hint": hint}
        self._rules = Rules(self._rules.table, self._rules.version, status)
