"""Computations that were asked for: one at a time; the last results are kept as hidden runs."""

from __future__ import annotations

import logging
import shutil
import threading
from collections import OrderedDict
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from tensortap.core.errors import LimitError, NotFoundError, TensortapError
from tensortap.index.logdir_index import LogIndex
from tensortap.index.run_index import RunIndex
from tensortap.replay.computing import Computed, Computer, LogicTest, Wanted
from tensortap.system.temp_dirs import temp_folder

_LOG = logging.getLogger(__name__)
_KEPT = 16  # results
_KEPT_BYTES = 8 << 30
_WAITING = 8  # computations that are under way or wait
_PATIENCE = 0.4  # s that a request waits for a result
_AGAIN = 0.5  # s until what was cancelled and still goes on is cancelled again
_IDLE = 300.0  # s after which the replaying process is ended


@dataclass(slots=True, eq=False)
class Job:
    """One computation. `run`: where its tensors are, once it is done; `changed`: tensors that are other ones
    than without the changes; `tested`: what its test found; `asked`: a request wants it, not only another
    job."""

    subject: str  # of which run
    wanted: Wanted
    name: str = ""
    result: Computed | None = None
    tested: LogicTest | None = None
    changed: list[str] = field(default_factory=list)
    run: RunIndex | None = None
    error: str = ""
    hint: str = ""
    asked: bool = False
    working: bool = True
    ended: threading.Event = field(default_factory=threading.Event)
    left: threading.Event = field(default_factory=threading.Event)  # the computer has done with it


class Computations:
    """All computations of a server; `close` ends them and removes what they wrote."""

    def __init__(self, computer: Computer) -> None:
        self.computer = computer
        self._held = ExitStack()
        self._folder = self._held.enter_context(temp_folder())
        self._log = LogIndex(self._folder, use_cache=False)
        self._jobs: OrderedDict[tuple[str, Wanted], Job] = OrderedDict()
        self._lock = threading.Lock()
        self._turn = threading.Condition(self._lock)
        self._busy = False  # the computer is
        self._reading = threading.Lock()  # a refresh beside another one would not wait for its runs
        self._current: Job | None = None
        self._count = 0
        self._idle: threading.Timer | None = None
        self._closed = False

    def ask(self, subject: str, wanted: Wanted) -> Job:
        """The computation, begun if it is not known; waits a moment for its result.

        Args:
            subject: what `cancel` names; another one for a run that took another's place.

        Raises:
            LimitError: too many wait.
        """
        job = self._job(subject, wanted)
        job.ended.wait(_PATIENCE)
        with self._lock:  # told once; who asks again wants it tried again
            if job.ended.is_set() and job.error and self._jobs.get((subject, wanted)) is job:
                self._jobs.pop((subject, wanted))
        return job

    def cancel(self, subject: str) -> int:
        """Ends the computations of a run; returns how many. Who waits for one is told so when asking next."""
        with self._lock:
            ended = [job for job in self._jobs.values() if job.subject == subject and job.working]
            for job in ended:
                job.error, job.working = "The computation was cancelled.", False
                job.ended.set()
            self._turn.notify_all()
            if self._current in ended:
                self.computer.cancel()
                threading.Thread(target=self._make_sure, args=(self._current,), daemon=True).start()
        return len(ended)

    def _make_sure(self, job: Job) -> None:
        """What was about to begin when it was cancelled has noticed nothing: cancels it again."""
        while not job.left.wait(_AGAIN):
            with self._lock:
                if self._current is job:
                    self.computer.cancel()

    def run(self, run_id: str) -> RunIndex | None:
        """The hidden run with that id."""
        try:
            return self._log.run(run_id)
        except NotFoundError:
            return None

    def close(self) -> None:
        """Ends what is under way."""
        with self._lock:
            self._closed = True
            self._jobs.clear()
            if self._idle is not None:
                self._idle.cancel()
            self._turn.notify_all()
            self.computer.cancel()
        self.computer.rest()
        self._held.close()

    def _job(self, subject: str, wanted: Wanted) -> Job:
        """What a request asks for, begun if it is not known."""
        with self._lock:
            known = self._jobs.get((subject, wanted))
            if known is not None:
                self._jobs.move_to_end((subject, wanted))
                known.asked = True
                return known
            if sum(job.working and job.asked for job in self._jobs.values()) >= _WAITING:
                raise LimitError(f"{_WAITING} computations wait already.", "Ask again when one has ended.")
            return self._begin(Job(subject, wanted, asked=True))

    def _before(self, job: Job) -> Job | None:
        """The same call without changes, computed first; what failed or was cancelled is not taken for it."""
        if not job.wanted.changes or job.wanted.tensors is not None:
            return None
        wanted = Wanted(job.wanted.recording)
        with self._lock:
            if not job.working:
                return None
            before = self._jobs.get((job.subject, wanted))
            if before is None or (before.ended.is_set() and before.error):
                before = self._begin(Job(job.subject, wanted))
            self._jobs.move_to_end((job.subject, wanted))
        before.ended.wait()
        return before

    def _begin(self, job: Job) -> Job:
        """Starts its thread. The caller holds the lock."""
        self._count += 1
        job.name = f"computed-{self._count}"
        self._jobs[job.subject, job.wanted] = job
        threading.Thread(target=self._work, args=(job,), name="tensortap-replay", daemon=True).start()
        return job

    def _work(self, job: Job) -> None:
        try:
            before = self._before(job)
            if before is not None and before.error:
                raise TensortapError(before.error, before.hint)
            result = self._compute(job)
            if isinstance(result, LogicTest):
                job.tested = result
            elif result is not None:
                with self._reading:
                    self._log.refresh()
                self._end(job, result, before)
        except TensortapError as error:
            if not job.ended.is_set():
                job.error, job.hint = error.message, error.hint
        except Exception:  # the thread has nobody to raise to
            _LOG.exception("a computation failed")
            if not job.ended.is_set():
                job.error = "The computation failed; the server's terminal says how."
        finally:
            job.working = False
            job.ended.set()
            self._tidy_unless_closed()

    def _compute(self, job: Job) -> Computed | LogicTest | None:
        """The result, once the computer is free; None if it was cancelled before."""
        with self._turn:
            self._turn.wait_for(lambda: not self._busy or not job.working or self._closed)
            if self._closed or not job.working:
                return None
            self._busy, self._current = True, job
            if self._idle is not None:
                self._idle.cancel()
        try:
            if job.wanted.test:
                return self.computer.test(job.wanted)
            return self.computer.compute(job.wanted, self._folder, job.name)
        finally:
            self._free()
            job.left.set()

    def _free(self) -> None:
        with self._turn:
            self._busy, self._current = False, None
            self._turn.notify_all()

    def _end(self, job: Job, result: Computed, before: Job | None) -> None:
        """Takes the result, all of it at once, unless the job was cancelled meanwhile."""
        run = next((run for run in self._log.runs if run.name == job.name), None)
        changed = [] if before is None or before.result is None else _changed(before.result, result)
        with self._lock:
            if job.working:
                job.result, job.changed, job.run, job.working = result, changed, run, False

    def _tidy_unless_closed(self) -> None:
        try:
            self._tidy()
        except (OSError, TensortapError):  # `close` removes the folder whenever it comes
            if not self._closed:
                _LOG.exception("what was computed could not be tidied up")

    def _tidy(self) -> None:
        """Forgets failures and the oldest results, and lets the process rest after a while."""
        # Before the names are taken: what is begun from here on is not to be removed.
        folders = list(self._folder.iterdir()) if self._folder.exists() else []
        with self._lock:
            if self._closed:
                return
            done = [(key, job) for key, job in self._jobs.items() if not job.working]
            size = sum(_size(self._folder / job.name) for _, job in done)
            kept = len(done)
            for key, job in done[:-1]:
                if kept <= _KEPT and size <= _KEPT_BYTES:
                    break
                self._jobs.pop(key)
                size -= _size(self._folder / job.name)
                kept -= 1
            if self._idle is not None:
                self._idle.cancel()
            self._idle = threading.Timer(_IDLE, self._rest)
            self._idle.daemon = True
            self._idle.start()
            named = {job.name for job in self._jobs.values()}
            if self._current is not None:  # cancelled and forgotten, maybe, but still being written
                named.add(self._current.name)
        for folder in folders:
            if folder.name not in named:
                shutil.rmtree(folder, ignore_errors=True)
        with self._reading:
            self._log.refresh()

    def _rest(self) -> None:
        with self._lock:
            if self._busy or self._closed:
                return
            self._busy = True
        try:
            self.computer.rest()
        finally:
            self._free()


def _size(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def _changed(before: Computed, after: Computed) -> list[str]:
    names = dict.fromkeys((*before.tensors, *after.tensors))
    return [name for name in names if _digest(before, name) != _digest(after, name)]


def _digest(computed: Computed, name: str) -> str:
    tensor = computed.tensors.get(name)
    return "" if tensor is None else tensor.digest
