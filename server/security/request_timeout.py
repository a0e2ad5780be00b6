"""Ends requests that take too long."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from tensortap.core.deadline import at_most

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

SECONDS = 5.0


class TimeLimit:
    """Wraps a WSGI application whose answers are whole when it returns: reading for one has 5 s."""

    def __init__(self, application: WSGIApplication) -> None:
        self._application = application

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        with at_most(SECONDS):
            return self._application(environ, start_response)
