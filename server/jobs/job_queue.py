"""Work that takes seconds, done elsewhere: requests get the last result, and how far the next is."""

from __future__ import annotations

import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tensortap.core.errors import TensortapError
from tensortap.system.subprocess_worker import Cancellation

_LOG = logging.getLogger(__name__)
_KEPT = 16  # results of that many runs are held
_QUEUED = 4  # pieces of work that are under way or wait: who asks for every step at once starts no crowd
PATIENCE = 0.5  # s that a request waits for a first result
FORGOTTEN = 90.0  # s after which work that nobody asks for is ended: a hidden tab asks once a minute
REST = 4.0  # times as long as the work took, before it is done again on a run that grows


@dataclass(slots=True, eq=False)
class Job:
    """What is known of one piece of work. `version`: of what it was done on; `done`, `total`, `doing`: how
    far the work is that is under way; `waiting`: it has not begun, as others' has not ended: ask again."""

    result: Any = None
    version: object = None
    working: bool = False
    waiting: bool = False
    done: int = 0
    total: int = 0
    doing: str = ""
    error: str = ""
    hint: str = ""
    rest_until: float = 0.0
    asked: float = 0.0
    advance: Advance | None = None
    ready: threading.Event = field(default_factory=threading.Event)


class Advance:
    """What work tells how far it is: `advance(done, total, doing)`, which raises once it shall end."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self.cancellation = Cancellation()

    def __call__(self, done: int, total: int, doing: str) -> None:
        if self.ended:
            raise _EndedError
        self._job.done, self._job.total, self._job.doing = done, total, doing

    @property
    def ended(self) -> bool:
        return self.cancellation.cancelled


Work = Callable[[Advance], Any]


class _EndedError(Exception):
    """Nobody asks for the result any more."""


class Background:
    """One thread a key at most, which waits for the work; the newest result is kept."""

    def __init__(self) -> None:
        self._jobs: OrderedDict[str, Job] = OrderedDict()
        self._lock = threading.Lock()
        self._queued = 0
        self._watching = False

    def ask(self, key: str, version: object, work: Work) -> Job:
        """The state of the work on a key; begins anew if it was done on another version."""
        with self._lock:
            job = self._jobs.setdefault(key, Job())
            job.asked = time.monotonic()
            self._jobs.move_to_end(key)
            self._forget([self._jobs.popitem(last=False)[1] for _ in range(len(self._jobs) - _KEPT)])
            due = not job.working and job.version != version and time.monotonic() >= job.rest_until
            job.waiting = due and self._queued >= _QUEUED
            if due and not job.waiting:
                self._begin(job, version, work)
        job.ready.wait(PATIENCE)
        return job

    def cancel(self, key: str) -> Job:
        """Ends the work on a key, if there is any; what was found before stays."""
        with self._lock:
            job = self._jobs.get(key) or Job()
            self._forget([job])
        return job

    def _begin(self, job: Job, version: object, work: Work) -> None:
        job.working, job.done, job.total, job.doing = True, 0, 0, ""
        job.advance = Advance(job)
        self._queued += 1
        threading.Thread(
            target=self._run, args=(job, version, work), name="tensortap-analysis", daemon=True
        ).start()
        if not self._watching:
            self._watching = True
            threading.Thread(target=self._watch, name="tensortap-forgotten", daemon=True).start()

    @staticmethod
    def _forget(jobs: list[Job]) -> None:
        for job in jobs:
            if job.working and job.advance is not None:
                job.advance.cancellation.cancel()

    def _watch(self) -> None:
        """Ends work that nobody has asked for any more, as long as there is any."""
        while True:
            with self._lock:
                working = [job for job in self._jobs.values() if job.working]
                self._watching = bool(working)
                if not working:
                    return
                late = time.monotonic() - FORGOTTEN
                self._forget([job for job in working if job.asked < late])
            time.sleep(1.0)

    def _run(self, job: Job, version: object, work: Work) -> None:
        advance = job.advance
        assert advance is not None
        begun = time.monotonic()
        try:
            job.result, job.error, job.hint = work(advance), "", ""
            job.version = version
        except TensortapError as error:
            if not advance.ended:
                job.error, job.hint, job.version = error.message, error.hint, version
        except Exception as error:  # the thread has nobody to raise to
            if not advance.ended:
                _LOG.error("an analysis failed", exc_info=error)
                job.error, job.hint = f"The analysis failed: {_told(error)}.", ""
                job.version = version
        finally:
            with self._lock:
                self._queued -= 1
            taken = 0.0 if advance.ended else time.monotonic() - begun
            job.rest_until = time.monotonic() + REST * taken
            job.working = False
            job.ready.set()


def _told(error: Exception) -> str:
    """What kind of error it was; nothing of the machine."""
    return str(error) if type(error) is RuntimeError else type(error).__name__
