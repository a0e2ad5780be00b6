"""The log that an application serves, read on when a request asks, but not more often than is useful."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

from flask import Flask, current_app

from tensortap.core.errors import TensortapError
from tensortap.index.logdir_index import LogIndex
from tensortap.index.run_index import RunIndex

from .responses.error_responses import STATUS
from .unread import unread_folders

REFRESH_INTERVAL = 0.5  # s; a committed snapshot must be visible within 1.5 s, and the page asks every second
AHEAD = 0.1  # s before that: who asks now starts reading, and does not wait; so where many ask, nobody waits
PATIENCE = 1.0  # s that a request waits for news; a large dump is read on meanwhile, and appears bit by bit
FINDING = 10.0  # s that the runs may take to be found; then requests are told so, after `PATIENCE` each
_FINDING_AT_ONCE = 8  # requests that wait for that, of 16 at work: the others are answered by what is known
LAST_READ = 0.5  # s that the end of the server waits for what is just being read; most parts take less
_IDLE = 60.0  # s without a request after which the thread ends
_THREAD = "tensortap-read"
_KEY = "tensortap"
_HIDDEN = "tensortap-hidden"
_LOG = logging.getLogger(__name__)


class SilentLogError(TensortapError):
    """The runs were not found yet: an empty list would say that there are none."""


class UnreadableLogError(TensortapError):
    """No run was found, and a folder cannot be looked into: nobody knows whether it holds some."""


STATUS[SilentLogError] = STATUS[UnreadableLogError] = 503


class _ClosedError(Exception):
    """The log is not read on any more."""


class LiveLog:
    """A log that is read by a thread of its own, one at a time, so that no request waits for a large dump.

    It is the same thread again and again: what allocators keep for one is not left behind for every reading.
    """

    def __init__(self, log: LogIndex) -> None:
        self.log = log
        self.after_reading: Callable[[], object] = lambda: None  # called by the thread
        self._may_wait = threading.Semaphore(_FINDING_AT_ONCE)
        self._changed = threading.Condition()  # guards all that follows
        self._reader: threading.Thread | None = None
        self._reading = False
        self._has_read = False
        self._begun = float("-inf")
        self._closed = False

    def read_on(self) -> None:
        """Returns once what was committed `REFRESH_INTERVAL` ago can be asked for, or after `PATIENCE`.

        Raises:
            SilentLogError: nobody knows yet which runs there are.
            UnreadableLogError: nobody knows, as a folder cannot be looked into.
        """
        late = time.monotonic() - self._begun >= REFRESH_INTERVAL
        if (self._begin() and late) or not self._has_read:
            with self._changed:
                patience = self._begun + PATIENCE - time.monotonic()
                self._changed.wait_for(lambda: not self._reading, patience)
        if not (self.log.found or self._closed or self._wait_for_runs()):
            raise self._silence()
        if not self.log.runs and (folders := unread_folders(self.log)):
            raise _unreadable(folders[0])

    def _wait_for_runs(self) -> bool:
        """Whether they were found; not all threads wait for that."""
        if not self._may_wait.acquire(blocking=False):
            return self.log.found
        try:
            return self.log.wait_for_runs(max(PATIENCE, self._begun + FINDING - time.monotonic()))
        finally:
            self._may_wait.release()

    def _silence(self) -> SilentLogError:
        # not `log.name`, which asks the same disk
        names = ", ".join(path.name or str(path) for path in self.log.logdirs)
        if not self._reading:
            return SilentLogError(
                f"Runs could not be looked for in {names}.", "The server's terminal shows the details."
            )
        seconds = max(1, round(time.monotonic() - self._begun))
        return SilentLogError(
            f"The log directory has not answered for {seconds} s: {names}.",
            "Its disk or network is slow, or hangs: see whether 'ls' of it returns. This page goes on"
            " by itself as soon as it answers.",
        )

    def _begin(self) -> bool:
        """Whether a reading was due and has been asked for."""
        with self._changed:
            rested = time.monotonic() - self._begun
            if self._reading or self._closed or rested < REFRESH_INTERVAL - AHEAD:
                return False
            if self._reader is None:
                reader = threading.Thread(target=self._read_when_asked, name=_THREAD, daemon=True)
                try:
                    reader.start()
                except RuntimeError:  # no thread is to be had just now: the next request tries again
                    return False
                self._reader = reader
            self._begun = time.monotonic()
            self._reading = True
            self._changed.notify_all()
            return True

    def close(self) -> None:
        """Reads no further; what is read already can still be asked for.

        A thread that is in native code when the interpreter ends takes the process down with it.
        """
        with self._changed:
            self._closed = True
            reader = self._reader
            self._changed.notify_all()
        if reader is not None:
            reader.join(LAST_READ)

    def _read_when_asked(self) -> None:
        while self._is_asked():
            self._read()
            with self._changed:
                self._reading, self._has_read = False, True
                self._changed.notify_all()
            self.after_reading()

    def _is_asked(self) -> bool:
        """Waits until there is something to do; nothing where nobody looks any more."""
        with self._changed:
            self._changed.wait_for(lambda: self._reading or self._closed, _IDLE)
            if not self._reading:
                self._reader = None
            return self._reading

    def _read(self) -> None:
        try:
            self.log.refresh(self._go_on)
        except _ClosedError:
            return
        except Exception:  # the thread has nobody to raise to; what was read before is still served
            _LOG.exception("reading the log directory failed")

    def _go_on(self, run: RunIndex) -> None:
        if self._closed:
            raise _ClosedError


def _unreadable(first: dict[str, str]) -> UnreadableLogError:
    return UnreadableLogError(
        f"{first['folder']} cannot be looked into, so that nobody knows which runs it holds:"
        f" {first['reason']}.",
        f"{first['hint']}. This page goes on by itself as soon as it can.",
    )


def install(app: Flask, log: LogIndex) -> None:
    """Makes `log` what the routes of `app` answer from."""
    app.extensions[_KEY] = LiveLog(log)


def after_reading(app: Flask, work: Callable[[], object]) -> None:
    """Has the thread that reads the log of `app` do something whenever it has read."""
    live: LiveLog = app.extensions[_KEY]
    live.after_reading = work


def close_log(app: Flask) -> None:
    """Reads on in the log of `app` no more."""
    live: LiveLog = app.extensions[_KEY]
    live.close()


def current_log() -> LogIndex:
    """The log, read on to what was committed `REFRESH_INTERVAL` ago, or as far as it could be."""
    live: LiveLog = current_app.extensions[_KEY]
    live.read_on()
    return live.log


def hide(app: Flask, find: Callable[[str], RunIndex | None]) -> None:
    """Adds runs that are not listed, but answer where their id is known."""
    app.extensions[_HIDDEN] = find


def current_run(run_id: str) -> RunIndex:
    """Raises NotFoundError for an id that the index did not hand out."""
    hidden: Callable[[str], RunIndex | None] | None = current_app.extensions.get(_HIDDEN)
    found = hidden(run_id) if hidden is not None else None
    return found if found is not None else current_log().run(run_id)
