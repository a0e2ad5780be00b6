"""Recorded steps: the list, and, where the server may replay, their tensors computed on demand."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from flask import Blueprint, Flask, Response, current_app, request

from tensortap.core.errors import NotFoundError, TensortapError
from tensortap.dump.recording.recording_files import (
    RecordingNote,
    RecordingPlace,
    find_recordings,
)
from tensortap.index.run_index import RunIndex
from tensortap.replay.client import ReplayProcess
from tensortap.replay.proof import proofs_json
from tensortap.replay.protocol import TESTS, CheckResult
from tensortap.replay.stepper.what_ifs import WhatIfs, read_what_ifs, write_what_ifs

from ..jobs.analysis_jobs import job_state
from ..jobs.job_queue import Job
from ..jobs.replay_jobs import ComputedStep, ReplayJobs
from ..log_reader import add_hidden_runs, current_run
from ..responses.error_responses import STATUS, BadRequestError, without_local_paths
from ..responses.parameters import Parameters
from ..responses.responses import json_response
from ..security.middleware import NO_REPLAY

blueprint = Blueprint("replay", __name__)
MAX_BODY = 65536
MAX_CHANGES = 500
MAX_TENSORS = 1000
_KEY = "tensortap-replay-jobs"


class ReplayNotAllowedError(TensortapError):
    """The server was started without `--allow-replay`."""


STATUS[ReplayNotAllowedError] = 403


def install(app: Flask, process: ReplayProcess | None) -> None:
    """Lets `app` replay recorded steps in `process`, if there is one."""
    if process is not None:
        app.config["MAX_CONTENT_LENGTH"] = MAX_BODY
        jobs = app.extensions[_KEY] = ReplayJobs(process)
        add_hidden_runs(app, jobs.run)


def close_replays(app: Flask) -> None:
    """Ends running computations and removes their results."""
    jobs: ReplayJobs | None = app.extensions.get(_KEY)
    if jobs is not None:
        jobs.close()


@blueprint.get("/api/runs/<run>/recordings")
def list_recordings(run: str) -> Response:
    """GET api/runs/<run>/recordings"""
    Parameters().done()
    found = current_run(run).recordings()
    allowed = _KEY in current_app.extensions
    return json_response(
        {
            "allowed": allowed,
            "hint": "" if allowed else NO_REPLAY[1],
            "recordings": [_recording_fields(place, note) for place, note in found],
            "tests": [{"name": name, "question": question} for name, question in TESTS.items()],
        }
    )


def _recording_fields(place: RecordingPlace, note: RecordingNote) -> dict[str, Any]:
    return {
        "id": place.path.name,
        "step": place.step,
        "call": place.call,
        "function": note.function,
        "graph": note.graph,
        "damage": note.damage,
    }


@blueprint.post("/api/replay/<run>/compute")
def compute(run: str) -> Response:
    """POST api/replay/<run>/compute"""
    jobs, found = _replay_jobs(), current_run(run)
    body = _body("recording", "changes", "tensors")
    job = jobs.compute(_subject(found), _place(found, body).path, _changes(body), _tensors(body))
    return json_response(_state(found, job, _result))


@blueprint.post("/api/replay/<run>/test")
def test(run: str) -> Response:
    """POST api/replay/<run>/test"""
    jobs, found = _replay_jobs(), current_run(run)
    body = _body("recording", "test")
    if body.get("test") not in TESTS:
        raise BadRequestError(
            f"Unknown test {str(body.get('test'))[:80]!r}.", f"Use one of {', '.join(TESTS)}."
        )
    job = jobs.test(_subject(found), _place(found, body).path, body["test"])
    return json_response(_state(found, job, _test_result))


@blueprint.post("/api/replay/<run>/cancel")
def cancel(run: str) -> Response:
    """POST api/replay/<run>/cancel"""
    _body()
    return json_response({"cancelled": _replay_jobs().cancel(_subject(current_run(run)))})


@blueprint.post("/api/replay/<run>/what-ifs")
def what_ifs(run: str) -> Response:
    """POST api/replay/<run>/what-ifs"""
    _replay_jobs()
    body = _body("recording", "what_ifs")
    place = _place(current_run(run), body)
    changes = body.get("what_ifs")
    if changes is not None:
        if not isinstance(changes, Mapping):
            raise BadRequestError("'what_ifs' is not an object.", "Send a list of changes for each name.")
        try:
            write_what_ifs(place.path, WhatIfs.of(changes))
        except OSError as error:
            raise TensortapError("Cannot save the what-ifs: no folder is writable.") from error
    return json_response({"what_ifs": read_what_ifs(place.path).as_record()})


def _replay_jobs() -> ReplayJobs:
    found: ReplayJobs | None = current_app.extensions.get(_KEY)
    if found is None:
        raise ReplayNotAllowedError(*NO_REPLAY)
    return found


def _subject(run: RunIndex) -> str:
    return f"{run.id}/{run.generation}"


def _body(*known: str) -> dict[str, Any]:
    """The request's JSON object. Raises BadRequestError if it is not one, or has other keys."""
    Parameters().done()
    try:
        body = request.get_json(silent=True)
    except RecursionError:  # it is nested a thousand times
        body = None
    if not isinstance(body, dict):
        raise BadRequestError(
            "The request body is not a JSON object.", "Send a JSON object as application/json."
        )
    unknown = [key for key in body if key not in known]
    if unknown:
        raise BadRequestError(f"Unknown field {unknown[0][:80]!r}.", f"Known: {', '.join(known) or 'none'}.")
    return body


def _place(run: RunIndex, body: Mapping[str, Any]) -> RecordingPlace:
    """By its id, as the run lists it: never a path that a request names."""
    wanted = body.get("recording")
    for place in find_recordings(run.path):
        if place.path.name == wanted:
            return place
    raise NotFoundError(
        f"The run has no recording {str(wanted)[:80]!r}.", "List them with api/runs/<run>/recordings."
    )


def _changes(body: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    changes = body.get("changes", [])
    fits = isinstance(changes, list) and len(changes) <= MAX_CHANGES
    if not fits or not all(_is_pair(change) for change in changes):
        raise BadRequestError(
            "'changes' is not valid.", f"Send at most {MAX_CHANGES} pairs of a tensor and an expression."
        )
    return tuple((tensor, expression) for tensor, expression in changes)


def _is_pair(change: object) -> bool:
    return isinstance(change, list) and len(change) == 2 and all(isinstance(text, str) for text in change)


def _tensors(body: Mapping[str, Any]) -> tuple[str, ...] | None:
    names = body.get("tensors")
    if names is None:
        return None
    if not isinstance(names, list) or not names or len(names) > MAX_TENSORS:
        raise BadRequestError("'tensors' is not valid.", f"Send 1 to {MAX_TENSORS} names, or null for all.")
    if not all(isinstance(name, str) for name in names):
        raise BadRequestError("'tensors' is not valid.", "Send a list of tensor names.")
    return tuple(names)


def _state(run: RunIndex, job: Job, result_fields: Callable[[Any], dict[str, Any]]) -> dict[str, Any]:
    working = job.active  # before its result, which is there once it is not
    error, hint = without_local_paths(job.error, run), without_local_paths(job.hint, run)
    result = None if working or job.result is None else result_fields(job.result)
    return job_state(job) | {"working": working, "error": error or None, "hint": hint, "result": result}


def _test_result(analysis: Mapping[str, Any]) -> dict[str, Any]:
    return CheckResult.of(analysis).to_json()


def _result(computed: ComputedStep) -> dict[str, Any]:
    run = computed.run
    return {
        "run": run.id,
        "graph": run.graphs[0].id if run.graphs else "",
        **computed.answer.to_json(),
        "proofs": proofs_json(computed.answer),
        "changed": list(computed.changed),
        "order": list(computed.order),
        "origins": list(computed.origins),
    }
