"""Recorded steps: the list, and, where the server may replay, their tensors computed on demand."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from flask import Blueprint, Flask, Response, current_app, request

from tensortap.core.errors import NotFoundError, TensortapError
from tensortap.dump.recording.recording_files import (
    RecordingNote,
    RecordingPlace,
    find_recordings,
    recording_note,
)
from tensortap.index.run_index import RunIndex
from tensortap.replay.computing import Computed, Computer, LogicTest, Wanted
from tensortap.replay.protocol import TESTS

from ..jobs.computations import Computations, Job
from ..log_reader import add_hidden_runs, current_run
from ..responses.error_responses import STATUS, BadRequestError, without_local_paths
from ..responses.parameters import Parameters
from ..responses.responses import json_response
from ..security.middleware import NO_REPLAY

blueprint = Blueprint("replay", __name__)
MAX_BODY = 65536
MAX_CHANGES = 500
MAX_TENSORS = 1000
MAX_ROWS = 200
_KEY = "tensortap-computations"


class ReplayNotAllowedError(TensortapError):
    """The server was started without `--allow-replay`."""


STATUS[ReplayNotAllowedError] = 403


def install(app: Flask, computer: Computer | None) -> None:
    """Lets `app` replay recorded steps with `computer`, if there is one."""
    if computer is not None:
        computations = app.extensions[_KEY] = Computations(computer)
        add_hidden_runs(app, computations.run)


def close_replays(app: Flask) -> None:
    """Ends running computations and removes their results."""
    computations: Computations | None = app.extensions.get(_KEY)
    if computations is not None:
        computations.close()


@blueprint.get("/api/runs/<run>/recordings")
def list_recordings(run: str) -> Response:
    """GET api/runs/<run>/recordings"""
    Parameters().done()
    found = find_recordings(current_run(run).path)
    computations: Computations | None = current_app.extensions.get(_KEY)
    return json_response(
        {
            "allowed": computations is not None,
            "hint": "" if computations is not None else NO_REPLAY[1],
            "recordings": [_recording_fields(place) for place in found],
        }
    )


def _recording_fields(place: RecordingPlace) -> dict[str, Any]:
    try:
        note = _note(place.path)
    except LookupError:  # one that cannot be read now may be mended, or shared with this user
        note = RecordingNote()
    return {
        "id": place.path.name,
        "step": place.step,
        "call": place.call,
        "function": note.function,
        "graph": note.graph,
    }


@lru_cache(maxsize=8192)  # a recording does not change any more; errors are not cached
def _note(folder: Path) -> RecordingNote:
    note = recording_note(folder)
    if not note.function:
        raise LookupError(folder)
    return note


@blueprint.post("/api/replay/<run>/compute")
def compute(run: str) -> Response:
    """POST api/replay/<run>/compute"""
    computations, found = _computations(), current_run(run)
    body = _body("recording", "changes", "tensors")
    wanted = Wanted(_place(found, body).path, _changes(body), _tensors(body))
    return json_response(_computation_state(found, computations.ask(_subject(found), wanted)))


@blueprint.post("/api/replay/<run>/test")
def test(run: str) -> Response:
    """POST api/replay/<run>/test"""
    computations, found = _computations(), current_run(run)
    body = _body("recording", "test")
    if body.get("test") not in TESTS:
        raise BadRequestError(f"There is no test {str(body.get('test'))[:80]!r}.", f"Use {', '.join(TESTS)}.")
    wanted = Wanted(_place(found, body).path, test=body["test"])
    job = computations.ask(_subject(found), wanted)
    return json_response(_state(found, job, lambda: None if job.tested is None else _test_result(job.tested)))


@blueprint.post("/api/replay/<run>/cancel")
def cancel(run: str) -> Response:
    """POST api/replay/<run>/cancel"""
    _body()
    return json_response({"cancelled": _computations().cancel(_subject(current_run(run)))})


@blueprint.post("/api/replay/<run>/what-ifs")
def what_ifs(run: str) -> Response:
    """POST api/replay/<run>/what-ifs"""
    computer, found = _computations().computer, current_run(run)
    body = _body("recording", "what_ifs")
    place = _place(found, body)
    changes = body.get("what_ifs")
    if changes is not None:
        if not isinstance(changes, Mapping):
            raise BadRequestError("'what_ifs' is no object.", "Give lists of changes by name.")
        try:
            computer.write_what_ifs(place.path, changes)
        except OSError as error:
            raise TensortapError("The what-ifs cannot be saved: no folder can be written to.") from error
    return json_response({"what_ifs": computer.read_what_ifs(place.path)})


def _computations() -> Computations:
    found: Computations | None = current_app.extensions.get(_KEY)
    if found is None:
        raise ReplayNotAllowedError(*NO_REPLAY)
    return found


def _subject(run: RunIndex) -> str:
    return f"{run.id}/{run.generation}"


def _body(*known: str) -> dict[str, Any]:
    """The request's JSON object. Raises BadRequestError if it is none, or has other keys."""
    Parameters().done()
    if (request.content_length or 0) > MAX_BODY:
        raise BadRequestError("The request is too large.", f"At most {MAX_BODY:,} bytes are read.")
    try:
        body = request.get_json(silent=True)
    except RecursionError:  # it is nested a thousand times
        body = None
    if not isinstance(body, dict):
        raise BadRequestError("The request holds no JSON object.", "Send one, as application/json.")
    unknown = [key for key in body if key not in known]
    if unknown:
        raise BadRequestError(
            f"There is no {unknown[0][:80]!r} here.", f"Known: {', '.join(known) or 'none'}."
        )
    return body


def _place(run: RunIndex, body: Mapping[str, Any]) -> RecordingPlace:
    """By its id, as the run lists it: never a path that a request names."""
    wanted = body.get("recording")
    for place in find_recordings(run.path):
        if place.path.name == wanted:
            return place
    raise NotFoundError(f"The run has no recording {str(wanted)[:80]!r}.", "List the run's recordings.")


def _changes(body: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    changes = body.get("changes", [])
    fits = isinstance(changes, list) and len(changes) <= MAX_CHANGES
    if not fits or not all(_is_pair(change) for change in changes):
        raise BadRequestError(
            "'changes' is not usable.", f"Up to {MAX_CHANGES} pairs of a tensor and an expression."
        )
    return tuple((tensor, expression) for tensor, expression in changes)


def _is_pair(change: object) -> bool:
    return isinstance(change, list) and len(change) == 2 and all(isinstance(text, str) for text in change)


def _tensors(body: Mapping[str, Any]) -> tuple[str, ...] | None:
    names = body.get("tensors")
    if names is None:
        return None
    if not isinstance(names, list) or not names or len(names) > MAX_TENSORS:
        raise BadRequestError("'tensors' is not usable.", f"1 to {MAX_TENSORS} names, or null for all.")
    if not all(isinstance(name, str) for name in names):
        raise BadRequestError("'tensors' is not usable.", "Give tensor names.")
    return tuple(names)


def _computation_state(run: RunIndex, job: Job) -> dict[str, Any]:
    def result() -> dict[str, Any] | None:
        return None if job.result is None or job.run is None else _result(job.result, job.run, job.changed)

    return _state(run, job, result)


def _state(run: RunIndex, job: Job, result: Callable[[], dict[str, Any] | None]) -> dict[str, Any]:
    working = job.working  # before its result, which is there only once it is through
    error, hint = without_local_paths(job.error, run), without_local_paths(job.hint, run)
    return {
        "working": working,
        "error": error or None,
        "hint": hint,
        "result": None if working else result(),
    }


def _test_result(tested: LogicTest) -> dict[str, Any]:
    return {
        "passed": tested.passed,
        "summary": tested.summary,
        "columns": list(tested.columns),
        "rows": [[row.get(column) for column in tested.columns] for row in tested.rows[:MAX_ROWS]],
        "rows_total": len(tested.rows),
    }


def _largest_ulp(computed: Computed) -> int | None:
    """ULP distance of the result farthest from the recorded one; None if any is unknown."""
    known = [computed.ulp.get(name) for name in computed.differing]
    return max((each for each in known if each is not None), default=None) if None not in known else None


def _result(computed: Computed, run: RunIndex, changed: list[str]) -> dict[str, Any]:
    rows = computed.tensors.values()
    return {
        "run": run.id,
        "graph": run.graphs[0].id if run.graphs else "",
        "step": computed.step,
        "identical": computed.identical,
        "outputs": computed.outputs,
        "variables": computed.variables,
        "differing": list(computed.differing[:100]),
        "differing_total": len(computed.differing),
        "untapped": computed.untapped,
        "ulp": _largest_ulp(computed),
        "failed": computed.failed,
        "recorded_failure": computed.recorded_failure,
        "versions": list(computed.versions),
        "changed": changed,
        "order": list(computed.order),
        "births": list(computed.births),
        "tensors": {
            "name": list(computed.tensors),
            **{
                column: [getattr(row, column) for row in rows]
                for column in ("dtype", "shape", "nan", "inf", "bad_visit", "visits", "kept", "proven")
            },
        },
    }
