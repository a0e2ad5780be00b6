"""Requested replays: one at a time, in a worker process. The last results are hidden runs."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tensortap.core.errors import NotFoundError, TensortapError
from tensortap.dump.read.runs import RunReader
from tensortap.index.logdir_index import LogIndex
from tensortap.index.run_index import RunIndex
from tensortap.replay.client import ReplayProcess
from tensortap.replay.protocol import Request, StepperAnswer, StepperRequest
from tensortap.replay.stepper.stepper_nodes import nonfinite_origins, stepper_nodes
from tensortap.system.temp_dirs import temp_folder

from .job_queue import Job, JobQueue, Work

_LOG = logging.getLogger(__name__)
_RESULTS = 16
_RESULT_BYTES = 8 << 30
_WAITING = 8  # replays that are under way or wait

Changes = tuple[tuple[str, str], ...]
"""Pairs of a tensor name and an expression."""


@dataclass(frozen=True, slots=True)
class ComputedStep:
    """Tensors of a recorded call, perhaps with changes.

    Attributes:
        run: the hidden run that holds them.
        order: the nodes of the graph, each after its inputs; empty where only some tensors were computed.
        origins: of these, those that make a NaN or an infinity.
        changed: tensors that the changes make other ones.
    """

    answer: StepperAnswer
    run: RunIndex
    order: Sequence[str] = ()
    origins: Sequence[str] = ()
    changed: Sequence[str] = ()


class ReplayJobs:
    """All replays of a server; `close` stops them and removes their output.

    A `subject` is the run that a recording is of: another one for a run that took another's place.
    """

    def __init__(self, process: ReplayProcess) -> None:
        self._process = process
        self._cleanup = ExitStack()
        self._folder = self._cleanup.enter_context(temp_folder())
        self._log = LogIndex(self._folder, use_cache=False)
        self._queue = JobQueue(
            *("computation", 1), most=_WAITING, keep=_RESULTS, cancelled_is_error=True, ended=self._remove_old
        )
        self._closed = False

    def compute(
        self, subject: str, recording: Path, changes: Changes = (), tensors: tuple[str, ...] | None = None
    ) -> Job:
        """A job with a ComputedStep as its result; waits a moment for it.

        Args:
            tensors: names; None: all.

        Raises:
            BusyError: too many wait.
        """

        def key_and_work(changes: Changes) -> tuple[object, Work]:
            key = subject, recording, changes, tensors
            return key, lambda job: self._compute(job, recording, changes, tensors)

        unchanged = key_and_work(()) if changes and tensors is None else None  # to compare with
        return self._ask(*key_and_work(changes), unchanged)

    def test(self, subject: str, recording: Path, test: str) -> Job:
        """A job with the result of a test of the step's logic (docs/replay.md). Raises BusyError."""

        def work(job: Job) -> Any:
            request = Request(str(recording), analysis="test", options={"test": test})
            return self._process.replay(
                request, lambda text: job.advance(0, 0, text), job.cancellation
            ).analysis

        return self._ask((subject, recording, "test", test), work, None)

    def cancel(self, subject: str) -> int:
        """Cancels the replays of a run; returns their number. The next request for one reports it."""
        return self._queue.cancel(lambda job: isinstance(job.key, tuple) and job.key[0] == subject)

    def run(self, run_id: str) -> RunIndex | None:
        """The hidden run with that id."""
        try:
            return self._log.run(run_id)
        except NotFoundError:
            return None

    def close(self) -> None:
        """Cancels running jobs."""
        self._closed = True
        self._queue.close()
        self._process.close()
        self._cleanup.close()

    def _ask(self, key: object, work: Work, needs: tuple[object, Work] | None) -> Job:
        job = self._queue.ask(key, 1, work, needs=needs)
        if job.error and not job.active:
            self._queue.drop(job)  # reported once; asking again tries it again
        return job

    def _compute(
        self, job: Job, recording: Path, changes: Changes, tensors: tuple[str, ...] | None
    ) -> ComputedStep:
        before: ComputedStep | None = None
        if job.needs is not None:
            if job.needs.error:
                raise TensortapError(job.needs.error, job.needs.hint)
            before = job.needs.result
        job.advance(0, 0, "starting TensorFlow")  # if it does not run yet
        name = _run_name(job)
        request = StepperRequest(str(recording), str(self._folder), name, changes, tensors)
        answer = self._process.compute(request, job.cancellation, job.advance)
        reader = RunReader(self._folder / name)
        nodes = stepper_nodes(reader.graph(reader.graph_ids()[0])) if tensors is None else []
        self._log.refresh()
        return ComputedStep(
            answer,
            next(run for run in self._log.runs if run.name == name),
            order=[node.name for node in nodes],
            origins=nonfinite_origins(nodes, answer.tensors),
            changed=[] if before is None else answer.changed_since(before.answer),
        )

    def _remove_old(self) -> None:
        """Removes failed jobs and the oldest results; called after each job by the queue's only thread."""
        try:
            folders = list(self._folder.iterdir())  # before the jobs, because later ones must stay
            through = [job for job in self._queue.jobs() if not job.active]
            size = sum(map(self._size, through))
            for job in through[:-1]:
                if size <= _RESULT_BYTES:
                    break
                size -= self._size(job)
                self._queue.drop(job)
            names = {_run_name(job) for job in self._queue.jobs() if job.active or job.result is not None}
            for folder in folders:
                if folder.name not in names:
                    shutil.rmtree(folder, ignore_errors=True)
            self._log.refresh()
        except (OSError, TensortapError):
            if not self._closed:  # `close` removes the folder whenever it comes
                _LOG.exception("old results could not be removed")

    def _size(self, job: Job) -> int:
        folder = self._folder / _run_name(job)
        return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def _run_name(job: Job) -> str:
    return f"computed-{job.number}"
