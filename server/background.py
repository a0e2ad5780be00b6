"""Work that takes seconds, in a thread of its own: requests get the last result, and how far the next is."""

from __future__ import annotations

import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

_LOG = logging.getLogger(__name__)
_KEPT = 16  # results of that many runs are held
_QUEUED = 4  # pieces of work that are under way or wait: who asks for every step at once starts no crowd
PATIENCE = 0.5  # s that a request waits for a first result

REST = 4.0  # times as long as the work took, before it is done again on a run that grows

Advance = Callable[[int, int, str], None]
Work = Callable[[Advance], Any]


@dataclass(slots=True)
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
    rest_until: float = 0.0
    ready: threading.Event = field(default_factory=threading.Event)


class _EndedError(Exception):
    """Nobody asks for the result any more."""


class Background:
    """One thread a key at most; the newest result is kept."""

    def __init__(self) -> None:
        self._jobs: OrderedDict[str, Job] = OrderedDict()
        self._lock = threading.Lock()
        self._queued = 0
        self._one = threading.Lock()  # at a time: the analyses of several runs would only slow each other

    def ask(self, key: str, version: object, work: Work) -> Job:
        """The state of the work on a key; begins anew if it was done on another version."""
        with self._lock:
            job = self._jobs.setdefault(key, Job())
            self._jobs.move_to_end(key)
            while len(self._jobs) > _KEPT:
                self._jobs.popitem(last=False)
            due = not job.working and job.version != version and time.monotonic() >= job.rest_until
            job.waiting = due and self._queued >= _QUEUED
            if due and not job.waiting:
                job.working, job.done, job.total, job.doing = True, 0, 0, ""
                self._queued += 1
                threading.Thread(
                    target=self._run, args=(key, job, version, work), name="tensortap-analysis", daemon=True
                ).start()
        job.ready.wait(PATIENCE)
        return job

    def _run(self, key: str, job: Job, version: object, work: Work) -> None:
        def advance(done: int, total: int, doing: str) -> None:
            if self._jobs.get(key) is not job:
                raise _EndedError
            job.done, job.total, job.doing = done, total, doing

        begun = time.monotonic()
        try:
            with self._one:
                begun = time.monotonic()
                job.result, job.error = work(advance), ""
        except _EndedError:
            return
        except Exception as error:  # the thread has nobody to raise to
            _LOG.exception("an analysis failed")
            job.error = f"The analysis failed: {type(error).__name__}."
        finally:
            with self._lock:
                self._queued -= 1
            job.version, job.working = version, False
            job.rest_until = time.monotonic() + REST * (time.monotonic() - begun)
            job.ready.set()
