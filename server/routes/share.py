"""Sharing a run: the responses of a story, and the run or a part of it as a `.tap.zip`."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from flask import Blueprint, Flask, Response, current_app

from tensortap.core.deadline import time_limit
from tensortap.core.errors import LimitError
from tensortap.core.progress import ignore_count
from tensortap.core.text import bytes_text
from tensortap.exporters.tap_zip import export_tap_zip, refuse_damage
from tensortap.index.query.search import Filters, find_rows
from tensortap.index.query.step_range import parse_steps
from tensortap.index.run_index import RunIndex
from tensortap.storage.filesystem import directory_size
from tensortap.system.temp_dirs import temp_folder

from ..log_reader import current_run
from ..responses.error_responses import BadRequestError
from ..responses.parameters import Parameters
from ..responses.responses import json_response
from ..story import MAX_STEPS, StoryError, add_viewer_part, record_story, story_of

__all__ = ["blueprint", "install"]

blueprint = Blueprint("share", __name__)
_KEY = "tensortap-share"
MAX_BYTES = 256 * 2**20  # of a run, which is packed in memory
SECONDS = 90.0  # instead of the limit of other requests


CreateApp = Callable[[Path], Flask]


def install(app: Flask, create_app: CreateApp) -> None:
    """Adds the function that creates an application for an exported file to `app`."""
    app.extensions[_KEY] = create_app


@blueprint.get("/api/runs/<run>/story")
def story(run: str) -> Response:
    """GET api/runs/<run>/story"""
    parameters = Parameters()
    steps, tensors, also = (parameters.text(name) for name in ("steps", "tensors", "also"))
    parameters.done()
    found = current_run(run)
    app = current_app._get_current_object()  # type: ignore[attr-defined]
    with time_limit(SECONDS):
        return json_response(
            record_story(
                app,
                found,
                steps=_steps(found, steps),
                also=_numbers(also),
                tensors=(tensors or "").split("\n"),
            )
        )


def _steps(run: RunIndex, text: str | None) -> list[int] | None:
    """At most `MAX_STEPS` of the selected steps, evenly; None: the story chooses."""
    if text is None:
        return None
    steps: list[int] = parse_steps(text).of(run.steps.step).tolist()
    return steps if len(steps) <= MAX_STEPS else steps[:: -(-len(steps) // MAX_STEPS)]


def _numbers(text: str | None) -> list[int]:
    if text is None:
        return []
    if not re.fullmatch(r"\d{1,18}(,\d{1,18})*", text):
        raise BadRequestError(f"also={text[:80]} is not valid.", "Use steps, e.g. also=3,25.")
    return [int(step) for step in text.split(",")]


@blueprint.get("/api/runs/<run>/tap.zip")
def tap_zip(run: str) -> Response:
    """GET api/runs/<run>/tap.zip"""
    parameters = Parameters()
    steps, match = parameters.text("steps"), parameters.text("match")
    parameters.done()
    found = current_run(run)
    _check_size(found)
    rows = None if steps is None and match is None else find_rows(found, Filters(steps=steps, match=match))
    with time_limit(SECONDS), temp_folder() as folder:
        if rows is not None:  # the file of a part would look whole, too
            refuse_damage(found)
        out = folder / f"{_file_name(found.name)}.tap.zip"
        export_tap_zip(found, rows, out, ignore_count)
        create_app: CreateApp = current_app.extensions[_KEY]
        with suppress(StoryError):  # there is nothing to show, but the run can still be exported
            add_viewer_part(out, story_of(create_app(out)))
        response = Response(out.read_bytes(), content_type="application/zip")
    response.headers["Content-Disposition"] = f'attachment; filename="{out.name}"'
    return response


def _check_size(run: RunIndex) -> None:
    """Raises LimitError for a run that is too large to be made whole in memory."""
    size = directory_size(run.path)
    if size > MAX_BYTES:
        raise LimitError(
            f"The run is {bytes_text(size)}; the page exports runs of up to {bytes_text(MAX_BYTES)}.",
            "Run: tensortap export RUN --viewer --out run.tap.zip",
        )


def _file_name(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]+", "_", name).strip("._")[-100:] or "run"
