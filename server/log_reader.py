"""Reads the log directory of an application: in one thread, on request, at most twice a second."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from itertools import islice

from flask import Flask, Response, current_app, request
from flask.typing import ResponseReturnValue

from tensortap.core.errors import DamagedError, NotFoundError, TensortapError, ValuePrunedError
from tensortap.core.text import escaped
from tensortap.index.engine_reading import EngineReading
from tensortap.index.logdir_index import LogIndex
from tensortap.index.run_index import RunIndex
from tensortap.scale.local import LocalEngine
from tensortap.scale.registry import default_processes
from tensortap.storage.uri import is_remote

from .responses.error_responses import STATUS

REFRESH_INTERVAL = 0.5  # s; a committed snapshot must be visible within 1.5 s, and the page asks every second
REFRESH_EARLY = 0.1  # s; a request this close to the next refresh starts it and does not wait
# At an address, where each look costs requests, the next one waits for a tenth of the time for which nothing
# has changed, up to this number of seconds.
QUIET_SHARE, QUIET_MOST = 0.1, 30.0
NEWS_TIMEOUT = 1.0  # s that a request waits for a refresh; a large dump appears bit by bit
DISCOVERY_TIMEOUT = 10.0  # s until runs must be found; afterwards requests fail after `NEWS_TIMEOUT` each
_MAX_WAITING = 8  # requests, of 16 threads, that wait for runs; the others are answered at once
CLOSE_TIMEOUT = 0.5  # s that closing waits for the part being read; most take less
_TRIES = 4  # to answer a request while its files are moved
_IDLE_TIMEOUT = 60.0  # s without a request after which the thread ends
_PAGE_FIRST = 1.0  # s for the first page, before processes that read the rest compete with it
_ENGINE_IDLE = 5.0  # s without work after which processes that read compacted runs end
_MAX_FOLDERS = 10  # unreadable ones listed: every poll of every page carries them
_MAX_HEADER = 300  # characters of a sentence
_DIFF = "/api/diff"  # names its runs in the query
_THREAD = "tensortap-read"
_KEY = "tensortap"
_HIDDEN = "tensortap-hidden"
_LOG = logging.getLogger(__name__)


class LogNotReadyError(TensortapError):
    """The log directory has not answered yet: an empty list of runs would be wrong. Ask again later."""


class UnreadableLogError(TensortapError):
    """No run was found, and an unreadable folder may contain some: check its permissions and disk."""


STATUS[LogNotReadyError] = STATUS[UnreadableLogError] = 503


class _ClosedError(Exception):
    """The log reader was closed."""


class LogReader:
    """Refreshes a log index in a separate thread, so that no request waits for a large dump.

    One thread is used for all refreshes: allocators keep memory for each thread that ever read.
    """

    def __init__(self, log: LogIndex) -> None:
        self.log = log
        self.after_refresh: Callable[[], object] = lambda: None  # called by the thread
        self._waiters = threading.Semaphore(_MAX_WAITING)
        self._changed = threading.Condition()  # guards all that follows
        self._thread: threading.Thread | None = None
        self._refreshing = False
        self._has_refreshed = False
        self._is_counted = False  # in this refresh, all runs were looked at, and only rows are missing
        self._started = float("-inf")
        self._closed = False
        self._is_remote = any(is_remote(path) for path in log.logdirs)
        self._changed_at = time.monotonic()
        self._reading = EngineReading(LocalEngine(default_processes(), _ENGINE_IDLE), only_compacted=True)

    def refresh(self) -> None:
        """Returns when everything committed `REFRESH_INTERVAL` ago is indexed, or after `NEWS_TIMEOUT`.

        Raises:
            LogNotReadyError: the runs are unknown yet.
            UnreadableLogError: there are no runs, and a folder is unreadable.
        """
        late = time.monotonic() - self._started >= REFRESH_INTERVAL
        if (self._start_refresh() and late) or not self._has_refreshed:
            with self._changed:
                timeout = self._started + NEWS_TIMEOUT - time.monotonic()
                self._changed.wait_for(lambda: not self._refreshing or self._is_counted, timeout)
        if not (self.log.runs_known or self._closed or self._wait_for_runs()):
            raise self._not_ready_error()
        if not self.log.runs and (folders := unreadable_folders(self.log)):
            raise _unreadable_error(folders[0])

    def _wait_for_runs(self) -> bool:
        """Whether runs were found; only some threads wait for them."""
        if not self._waiters.acquire(blocking=False):
            return self.log.runs_known
        try:
            return self.log.wait_for_runs(
                max(NEWS_TIMEOUT, self._started + DISCOVERY_TIMEOUT - time.monotonic())
            )
        finally:
            self._waiters.release()

    def _not_ready_error(self) -> LogNotReadyError:
        # not `log.name`, which asks the same disk
        names = ", ".join(path.name or str(path) for path in self.log.logdirs)
        if not self._refreshing:
            return LogNotReadyError(
                f"Cannot search for runs in {names}.", "See the server's terminal for details."
            )
        seconds = max(1, round(time.monotonic() - self._started))
        return LogNotReadyError(
            f"The log directory has not responded for {seconds} s: {names}.",
            "Its disk or network is slow or hangs: check whether 'ls' returns. This page retries.",
        )

    def _pause(self) -> float:
        """Seconds between two refreshes."""
        quiet = time.monotonic() - self._changed_at if self._is_remote else 0.0
        return min(max(REFRESH_INTERVAL, quiet * QUIET_SHARE), QUIET_MOST)

    def _start_refresh(self, *, at_once: bool = False) -> bool:
        """Whether a refresh was due and was started. `at_once`: also where nothing has changed for long."""
        with self._changed:
            elapsed = time.monotonic() - self._started
            pause = REFRESH_INTERVAL if at_once else self._pause()
            if self._refreshing or self._closed or elapsed < pause - REFRESH_EARLY:
                return False
            if self._thread is None:
                thread = threading.Thread(target=self._run, name=_THREAD, daemon=True)
                try:
                    thread.start()
                except RuntimeError:  # no thread available now: the next request tries again
                    return False
                self._thread = thread
            self._started = time.monotonic()
            self._refreshing, self._is_counted = True, False
            self._changed.notify_all()
            return True

    def wait_for_refresh(self) -> bool:
        """Waits for a refresh that begins now or later; returns whether anything changed in the log since
        the call, or may have changed."""
        called, cursor = time.monotonic(), self.log.cursor
        until = called + REFRESH_INTERVAL + NEWS_TIMEOUT
        with self._changed:
            while not self._closed and time.monotonic() < until:
                if self._started >= called and not self._refreshing:
                    break
                if not self._refreshing and self._start_refresh(at_once=True):
                    continue
                self._changed.wait(REFRESH_EARLY)
        return self.log.cursor != cursor

    def close(self) -> None:
        """Stops reading; indexed data can still be queried.

        A thread that is in native code when the interpreter ends crashes the process.
        """
        with self._changed:
            self._closed = True
            thread = self._thread
            self._changed.notify_all()
        if thread is not None:
            thread.join(CLOSE_TIMEOUT)

    def _run(self) -> None:
        while self._wait_for_request():
            self._refresh_index()
            with self._changed:
                self._refreshing, self._has_refreshed = False, True
                self._changed.notify_all()
            self.after_refresh()

    def _wait_for_request(self) -> bool:
        """Waits for a request; False after `_IDLE_TIMEOUT` without one, or after `close`."""
        with self._changed:
            self._changed.wait_for(lambda: self._refreshing or self._closed, _IDLE_TIMEOUT)
            if not self._refreshing:
                self._thread = None
            return self._refreshing

    def _refresh_index(self) -> None:
        try:
            if self.log.refresh(self._check_open, reading=self._reading):
                self._changed_at = time.monotonic()
        except _ClosedError:
            return
        except Exception:  # a thread has no caller; data read before are still served
            _LOG.exception("reading the log directory failed")

    def _check_open(self, run: RunIndex) -> None:
        if self._closed:
            raise _ClosedError
        if all(each.is_counted for each in self.log.runs):
            with self._changed:
                is_first = not self._has_refreshed
                self._is_counted = self._has_refreshed = True
                self._changed.notify_all()
                if is_first and self._changed.wait_for(lambda: self._closed, _PAGE_FIRST):
                    raise _ClosedError


def unreadable_folders(log: LogIndex) -> list[dict[str, str]]:
    """The first unreadable folders: `folder` as the list of runs names it, `reason` and `hint`."""
    return [
        {
            "folder": escaped(log.name_of(folder)),
            **{name: text.removesuffix(".") for name, text in _reason_and_hint(error).items()},
        }
        for folder, error in islice(log.unread.items(), _MAX_FOLDERS)
    ]


def _reason_and_hint(error: OSError | DamagedError) -> dict[str, str]:
    if isinstance(error, DamagedError):
        return {"reason": error.message, "hint": error.hint}
    denied = isinstance(error, PermissionError)
    hint = (
        "Make it readable for the server's user" if denied else "Check it with 'ls', and see the system log"
    )
    return {"reason": error.strerror or type(error).__name__, "hint": hint}


def _unreadable_error(first: dict[str, str]) -> UnreadableLogError:
    return UnreadableLogError(
        f"Cannot read {first['folder']}, so its runs are unknown: {first['reason']}.",
        f"{first['hint']}. This page retries.",
    )


def install(app: Flask, log: LogIndex) -> None:
    """Makes the routes of `app` answer from `log`.

    Data pruned or moved during a read are no longer at their place: such a request is answered again once the
    index knows of the change.
    """
    reader = app.extensions[_KEY] = LogReader(log)
    dispatch = app.dispatch_request

    def dispatch_again() -> ResponseReturnValue:
        for _ in range(_TRIES - 1):
            before = log.cursor
            try:
                return dispatch()
            except (DamagedError, ValuePrunedError, FileNotFoundError):
                changed = log.cursor != before
                if request.method not in ("GET", "HEAD") or not (reader.wait_for_refresh() or changed):
                    raise
        return dispatch()

    app.dispatch_request = dispatch_again  # type: ignore[method-assign]
    app.after_request(_mark_damage)


def _mark_damage(response: Response) -> Response:
    """Names the damage of a run in all answers about it: they may lack data, or be another worker's."""
    asked = [(request.view_args or {}).get("run")]
    if request.path.startswith(_DIFF):
        asked = [request.args.get("a"), request.args.get("b")]
    reader: LogReader = current_app.extensions[_KEY]
    damage: list[str] = []
    for run_id in filter(None, asked):
        with suppress(NotFoundError):
            run = _hidden_run(run_id) or reader.log.run(run_id)
            damage += run.missing_data
    if damage:
        more = f" And {len(damage) - 1} more." if len(damage) > 1 else ""
        text = f"{damage[0][:_MAX_HEADER]}{more}".encode("ascii", "backslashreplace").decode()
        response.headers["X-Tensortap-Damage"] = " ".join(text.split())
    return response


def call_after_refresh(app: Flask, work: Callable[[], object]) -> None:
    """Calls `work` in the reading thread of `app` after each refresh."""
    reader: LogReader = app.extensions[_KEY]
    reader.after_refresh = work


def read_whole(app: Flask) -> LogIndex:
    """The log of an application without other users yet, read completely in this thread."""
    reader: LogReader = app.extensions[_KEY]
    reader.log.refresh()
    return reader.log


def drop_log_caches(app: Flask) -> None:
    """Drops what the log of `app` only holds to answer faster."""
    reader: LogReader = app.extensions[_KEY]
    reader.log.drop_caches()


def close_log(app: Flask) -> None:
    """Stops reading the log of `app`."""
    reader: LogReader = app.extensions[_KEY]
    reader.close()


def current_log() -> LogIndex:
    """The log of this application, refreshed to what was committed `REFRESH_INTERVAL` ago if possible."""
    reader: LogReader = current_app.extensions[_KEY]
    reader.refresh()
    return reader.log


def add_hidden_runs(app: Flask, find: Callable[[str], RunIndex | None]) -> None:
    """Adds a lookup of runs that are not listed, but answer to their id."""
    app.extensions[_HIDDEN] = find


def current_run(run_id: str) -> RunIndex:
    """The run with this id. Raises NotFoundError for an id that is not from the index."""
    found = _hidden_run(run_id)
    return found if found is not None else current_log().run(run_id)


def _hidden_run(run_id: str) -> RunIndex | None:
    hidden: Callable[[str], RunIndex | None] | None = current_app.extensions.get(_HIDDEN)
    return None if hidden is None else hidden(run_id)
