"""Rewords failures for people, in this one place: every error is answered as JSON `{error, hint}`."""

from __future__ import annotations

import logging
import traceback
from http import HTTPStatus

from flask import Flask, request
from werkzeug.exceptions import HTTPException
from werkzeug.wrappers import Response

from tensortap.core.errors import (
    AmbiguousError,
    DamagedError,
    FormatVersionError,
    InvalidNameError,
    InvalidValueError,
    LimitError,
    NotARunError,
    NotFoundError,
    RemoteReadError,
    SelectionError,
    TensortapError,
    TimeLimitError,
    ValueNotKeptError,
    ValuePrunedError,
)
from tensortap.core.text import escaped
from tensortap.index.run_index import RunIndex

from .json_encoding import to_json


class EscapeFilter(logging.Filter):
    """Writes control characters and direction marks of log records as `\\x1b`.

    Terminals obey them, and addresses are logged as they were sent. Line breaks stay in tracebacks only.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        """Accepts every record after changing it."""
        record.msg, record.args = escaped(record.getMessage()), ()
        if record.exc_info and record.exc_info[1] is not None:
            lines = "".join(traceback.format_exception(record.exc_info[1])).rstrip("\n").split("\n")
            record.exc_text = "\n".join(map(escaped, lines))
        return True


ESCAPE_FILTER = EscapeFilter()

_LOG = logging.getLogger(__name__)
_LOG.addFilter(ESCAPE_FILTER)

STATUS: dict[type[TensortapError], int] = {
    NotFoundError: 404,
    ValueNotKeptError: 404,
    ValuePrunedError: 410,
    NotARunError: 404,
    AmbiguousError: 400,
    SelectionError: 400,
    InvalidNameError: 400,
    InvalidValueError: 400,
    LimitError: 413,
    TimeLimitError: 503,
    FormatVersionError: 422,
    DamagedError: 422,
}

_HINTS = {
    404: "List the runs with api/runs.",
    405: "This server is read-only: use GET or HEAD.",
    413: "Send at most 64 KiB.",
}


class BadRequestError(TensortapError):
    """A parameter is unknown, missing or invalid. The hint lists valid values."""


STATUS[BadRequestError] = 400


def error_response(status: int, error: str, hint: str = "") -> Response:
    """The answer of every route and of the security middleware to a failure."""
    body = to_json({"error": error, "hint": hint})
    return Response(body, status, content_type="application/json", headers={"Cache-Control": "no-store"})


def without_local_paths(text: str, *runs: RunIndex) -> str:
    """The text without the folders of runs: paths of this machine are not for browsers."""
    for run in runs:
        where = str(run.path.parent)
        text = text.replace(f"{where}/", "").replace(where, "")
    return text


def install(app: Flask) -> None:
    """Makes `app` answer every error this way."""
    app.register_error_handler(TensortapError, _tensortap_error)
    app.register_error_handler(HTTPException, _http_error)
    app.register_error_handler(FileNotFoundError, _file_vanished)
    app.register_error_handler(RemoteReadError, _no_answer)
    app.register_error_handler(OSError, _failed_disk)
    app.register_error_handler(Exception, _any_error)


def _tensortap_error(error: TensortapError) -> Response:
    status = next((STATUS[kind] for kind in type(error).__mro__ if kind in STATUS), 500)
    return error_response(status, error.message, error.hint)


def _http_error(error: HTTPException) -> Response:
    status = error.code or 500
    phrase = HTTPStatus(status).phrase if status in {s.value for s in HTTPStatus} else "Error"
    if status == 404:
        return error_response(404, f"Not found: {request.path[:200]}.", _HINTS[404])
    answer = error_response(status, f"{phrase}.", _HINTS.get(status, ""))
    if status == 405:
        answer.headers["Allow"] = "GET, HEAD"
    return answer


def _file_vanished(error: FileNotFoundError) -> Response:
    _LOG.info("a file was removed while it was read: %s", error)
    return error_response(
        404, "A file of this run no longer exists.", "The run was moved or deleted. Reload the page."
    )


def _no_answer(error: RemoteReadError) -> Response:
    return error_response(502, *no_answer_text(error))


def no_answer_text(error: RemoteReadError) -> tuple[str, str]:
    """(error, hint) for a failing address of a run, without the address, which may contain keys."""
    name = str(error.filename or "").rstrip("/").rpartition("/")[2]
    return f"{name}: {error.strerror}.", "The run's storage failed; see docs/remote.md."


def _failed_disk(error: OSError) -> Response:
    _LOG.error("a file cannot be read at %s", request.path[:200], exc_info=error)
    return error_response(
        500,
        f"A file cannot be read: {error.strerror or type(error).__name__}.",
        "Check the disk; see the server's terminal and the system log for details.",
    )


def _any_error(error: Exception) -> Response:
    return unexpected_error(error, request.path)


def unexpected_error(error: Exception, path: str) -> Response:
    """The answer to an unexpected error of a request to `path`; logs the traceback."""
    _LOG.error("unexpected error at %s", path[:200], exc_info=error)
    return error_response(
        500,
        "Unexpected server error.",
        "See the server's terminal for details, and please report this as an issue.",
    )
