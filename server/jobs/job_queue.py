"""A queue of work that takes seconds: requests get the last result, and how far the next one is.

Requests for the same key share one job. A few threads work, first come, first served; each waits for a worker
process most of the time. The newest results are held.
"""

from __future__ import annotations

import copy
import itertools
import logging
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any

from tensortap.core.errors import TensortapError
from tensortap.system.subprocess_worker import Cancellation, ChildEndedError, ChildFailedError

from ..responses.error_responses import STATUS

_LOG = logging.getLogger(__name__)
FIRST_RESULT_TIMEOUT = 0.5  # s that a request waits for a first result
ABANDONED_AFTER = 90.0  # s after which work without requests is cancelled: a hidden tab sends one per minute
COOLDOWN_FACTOR = 4.0  # times as long as the work took, before it is done again on a run that grows


class BusyError(TensortapError):
    """Too much work is waiting. Ask again when some has ended."""


STATUS[BusyError] = 503


@dataclass(slots=True, eq=False)
class Job:
    """Work on one key, with its last result.

    Attributes:
        number: identifies a job of a queue.
        version: version of the data behind the result or error.
        queued, working: it waits for a thread, or has one. done, total, doing: how far it is then.
        needs: another job, which has ended when the work of this one begins (in a queue with one thread).
    """

    key: Hashable
    number: int = 0
    result: Any = None
    version: object = None
    error: str = ""
    hint: str = ""
    queued: bool = False
    working: bool = False
    done: int = 0
    total: int = 0
    doing: str = ""
    needs: Job | None = None
    counted: bool = False  # of the limit: a request started it
    cancellation: Cancellation = field(default_factory=Cancellation)
    ready: threading.Event = field(default_factory=threading.Event)  # it ended once
    rest_until: float = 0.0
    asked: float = 0.0

    @property
    def active(self) -> bool:
        """Whether there will be another result."""
        return self.queued or self.working

    def advance(self, done: int, total: int, doing: str) -> None:
        """Updates the progress of the work. Raises _CancelledError once the work is cancelled."""
        if self.cancellation.cancelled:
            raise _CancelledError
        self.done, self.total, self.doing = done, total, doing

    def publish(self, result: Any) -> None:
        """Shows a part of the first result. A later one would hide what the whole one before it had."""
        if self.result is None:
            self.result = result
            self.ready.set()


Work = Callable[[Job], Any]


class _CancelledError(Exception):
    """No client requests the result any more."""


class JobQueue:
    """Jobs of one kind.

    Args:
        noun: the name of a job in errors. threads: jobs at a time.
        most: jobs that requests may have waiting; None: any number.
        keep: jobs that are held; the oldest give way.
        forget: whether jobs without further requests are cancelled.
        cancelled_is_error: whether a cancelled job is an error; else the next request starts a new one.
        ended: called in the thread after each job.
    """

    def __init__(
        self,
        noun: str,
        threads: int,
        *,
        most: int | None = None,
        keep: int = 16,
        forget: bool = False,
        cancelled_is_error: bool = False,
        ended: Callable[[], None] = lambda: None,
    ) -> None:
        self._noun, self._threads, self._most, self._keep = noun, threads, most, keep
        self._forget, self._cancelled_is_error, self._ended = forget, cancelled_is_error, ended
        self._jobs: OrderedDict[Hashable, Job] = OrderedDict()  # the most recently requested is last
        self._waiting: deque[tuple[Job, object, Work]] = deque()
        self._working: set[Job] = set()  # some may be forgotten
        self._lock = threading.Lock()
        self._numbers = itertools.count(1)
        self._running = 0  # threads
        self._watching = self._closed = False

    def ask(
        self, key: Hashable, version: object, work: Work, *, needs: tuple[Hashable, Work] | None = None
    ) -> Job:
        """The job of a key, started if there is no result for this version; waits a moment for a first
        result.

        Args:
            needs: key and work of another job that is done first, unless its result is known.

        Raises:
            BusyError: too many wait.
        """
        with self._lock:
            job = self._jobs.get(key)
            if job is None:
                self._check_limit()
                job = self._jobs[key] = Job(key, next(self._numbers))
            job.asked, job.counted = time.monotonic(), True
            if not job.active and job.version != version and time.monotonic() >= job.rest_until:
                if needs is not None:
                    job.needs = self._needed(*needs, version)
                self._begin(job, version, work)
            self._jobs.move_to_end(key)
            self._drop_oldest()
        job.ready.wait(FIRST_RESULT_TIMEOUT)
        return job

    def cancel(self, chosen: Callable[[Job], bool]) -> int:
        """Cancels jobs, and returns their number; existing results stay."""
        with self._lock:
            jobs = [job for job in self._jobs.values() if job.active and chosen(job)]
            self._cancel(jobs)
        return len(jobs)

    def get(self, key: Hashable) -> Job | None:
        """The job of a key, if there is one."""
        return self._jobs.get(key)

    def snapshot(self, job: Job) -> Job:
        """A copy of the job, which no thread changes."""
        with self._lock:
            return copy.copy(job)

    def drop(self, job: Job) -> None:
        """Drops a job; the next request for its key starts a new one."""
        with self._lock:
            if self._jobs.get(job.key) is job:
                self._jobs.pop(job.key)
                self._cancel([job])

    def jobs(self) -> list[Job]:
        """The jobs in memory, the most recently requested last, and those still running."""
        with self._lock:
            return [*self._jobs.values(), *(self._working - set(self._jobs.values()))]

    def close(self) -> None:
        """Ends all work."""
        with self._lock:
            self._closed = True
            self._cancel(list(self._jobs.values()))
            self._jobs.clear()

    def _check_limit(self) -> None:
        waiting = sum(job.active and job.counted for job in self._jobs.values())
        if self._most is not None and waiting >= self._most:
            raise BusyError(
                f"{self._most} {self._noun}s are already waiting.", "Try again when one has finished."
            )

    def _needed(self, key: Hashable, work: Work, version: object) -> Job:
        job = self._jobs.pop(key, None)
        if job is None or job.cancellation.cancelled or (job.error and not job.active):
            job = Job(key, next(self._numbers))
            self._begin(job, version, work)
        self._jobs[key] = job
        return job

    def _begin(self, job: Job, version: object, work: Work) -> None:
        job.queued, job.done, job.total, job.doing = True, 0, 0, ""
        job.cancellation = Cancellation()
        self._waiting.append((job, version, work))
        if self._running < self._threads:
            self._running += 1
            threading.Thread(target=self._work, name=f"tensortap-{self._noun}", daemon=True).start()
        if self._forget and not self._watching:
            self._watching = True
            threading.Thread(target=self._watch, name="tensortap-forgotten", daemon=True).start()

    def _drop_oldest(self) -> None:
        while len(self._jobs) > self._keep:
            through = (job for job in self._jobs.values() if not job.active)
            oldest = next(through, None) or next(iter(self._jobs.values()))
            self._jobs.pop(oldest.key)
            self._cancel([oldest])

    def _cancel(self, jobs: list[Job]) -> None:
        for job in jobs:
            job.cancellation.cancel()
            if job.queued:
                entry = next(entry for entry in self._waiting if entry[0] is job)
                self._waiting.remove(entry)
                self._finish(job, entry[1])

    def _watch(self) -> None:
        """Cancels work that no client has requested recently, while there is any."""
        while True:
            with self._lock:
                active = [job for job in self._jobs.values() if job.active]
                self._watching = bool(active)
                if not active:
                    return
                late = time.monotonic() - ABANDONED_AFTER
                self._cancel([job for job in active if job.asked < late])
            time.sleep(1.0)

    def _work(self) -> None:
        """Runs waiting jobs until none is left."""
        while True:
            with self._lock:
                if not self._waiting:
                    self._running -= 1
                    return
                job, version, work = self._waiting.popleft()
                job.working = True
                job.queued = False
                self._working.add(job)
            begun = time.monotonic()
            result, failure = self._done(job, work)
            with self._lock:
                self._working.remove(job)
                job.rest_until = time.monotonic() + COOLDOWN_FACTOR * (time.monotonic() - begun)
                self._finish(job, version, result, failure)
            self._ended()

    def _done(self, job: Job, work: Work) -> tuple[Any, tuple[str, str] | None]:
        """The result of the work, or its error and hint."""
        try:
            return work(job), None
        except TensortapError as error:
            return None, (error.message, error.hint)
        except Exception as error:  # a thread has no caller to raise to
            if not (job.cancellation.cancelled or self._closed):
                _LOG.error("the %s failed", self._noun, exc_info=error)
            of_worker = isinstance(error, ChildEndedError | ChildFailedError)
            why = str(error) if of_worker else type(error).__name__  # its text may name folders
            return None, (f"The {self._noun} failed: {why}.", "")

    def _finish(
        self, job: Job, version: object, result: Any = None, failure: tuple[str, str] | None = None
    ) -> None:
        if not job.cancellation.cancelled:
            job.version, (job.error, job.hint) = version, failure or ("", "")
            if failure is None:
                job.result = result
        else:
            job.rest_until = 0.0
            if self._cancelled_is_error:
                job.version, job.error, job.hint = version, f"The {self._noun} was cancelled.", ""
        job.queued = job.working = False  # last: then the caller takes the result
        job.ready.set()
