"""The log that an application serves, read on when a request asks, but not more often than is useful."""

from __future__ import annotations

from flask import Flask, current_app

from tensortap.index import LogIndex, RunIndex

REFRESH_INTERVAL = 0.5  # s; a committed snapshot must be visible within 1.5 s, and the page asks every second
_KEY = "tensortap"


def install(app: Flask, log: LogIndex) -> None:
    """Makes `log` what the routes of `app` answer from."""
    app.extensions[_KEY] = log


def current_log() -> LogIndex:
    """The log, read on to what is committed now (or `REFRESH_INTERVAL` ago)."""
    log: LogIndex = current_app.extensions[_KEY]
    log.refresh(min_interval=REFRESH_INTERVAL)
    return log


def current_run(run_id: str) -> RunIndex:
    """Raises NotFoundError for an id that the index did not hand out."""
    return current_log().run(run_id)
