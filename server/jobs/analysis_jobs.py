"""Requested analyses, in worker processes; in a thread where only this one can read the run."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from flask import Flask, current_app

from tensortap.analysis.notes import missing_from
from tensortap.core.errors import RemoteReadError, TensortapError
from tensortap.index.run_index import RunIndex
from tensortap.system.subprocess_worker import ChildPool

from ..responses.error_responses import no_answer_text, without_local_paths
from .analysis_worker import Answer, place_of, run_task
from .job_queue import Job, JobQueue

_KEY = "tensortap-analysis"
_MOST = 2  # processes, for all applications of this one
_WORKERS = ChildPool("server.jobs.analysis_worker", most=_MOST, idle=300.0)
_IN_PROCESS = threading.Lock()  # analyses in this process, one at a time
_POLL_INTERVAL = 0.2  # s between two checks whether one that waits shall end


@dataclass(slots=True)
class _Analyses:
    """The analyses of an application. `memory`: bytes that each process may take; None: no limit."""

    queue: JobQueue
    memory: int | None = None


def install(app: Flask) -> None:
    """Adds the analysis queue to `app`."""
    app.extensions[_KEY] = _Analyses(JobQueue("analysis", 4, forget=True))


def limit_memory(app: Flask, memory: int) -> None:
    """Lets all analysis processes together take about `memory` bytes."""
    app.extensions[_KEY].memory = memory // _MOST


def close_analyses(app: Flask) -> None:
    """Ends the running analyses of `app`, and idle workers: this process may continue, as in a notebook."""
    app.extensions[_KEY].queue.close()
    _WORKERS.close()


def ask(
    runs: tuple[RunIndex, ...],
    what: str,
    key: str,
    version: object,
    options: Mapping[str, Any],
    *,
    cancel: bool = False,
) -> Job:
    """Returns the result of an analysis so far; starts it if necessary.

    Args:
        what, options: the name of the task, and its arguments. key: identifies the request.
        version: of the analysed data: another one, and it begins again. cancel: end it instead.
    """
    analyses: _Analyses = current_app.extensions[_KEY]
    queue, memory = analyses.queue, analyses.memory
    version = version, sum(len(run.damage) for run in runs)  # damage may be found later than snapshots
    name = f"{runs[0].id}/{runs[0].generation}/{key}"
    if cancel:
        queue.cancel(lambda job: job.key == name)
        return queue.snapshot(queue.get(name) or Job(name))
    return queue.snapshot(queue.ask(name, version, lambda job: _analyse(runs, what, options, job, memory)))


def _analyse(
    runs: tuple[RunIndex, ...], what: str, options: Mapping[str, Any], job: Job, memory: int | None
) -> Answer:
    return _without_paths(_answer(runs, what, options, job, memory), runs)


def _without_paths(answer: Answer, runs: tuple[RunIndex, ...]) -> Answer:
    return answer._replace(damage=[without_local_paths(sentence, *runs) for sentence in answer.damage])


def _answer(
    runs: tuple[RunIndex, ...], what: str, options: Mapping[str, Any], job: Job, memory: int | None
) -> Answer:
    places = [place for run in runs if (place := place_of(run)) is not None]
    try:
        if len(places) == len(runs):
            _, pickled = _WORKERS.ask(
                {"what": what, "places": places, "options": options, "memory": memory},
                progress=lambda state: job.advance(*state),
                cancellation=job.cancellation,
            )
            return Answer(*pickle.loads(pickled))
        while not _IN_PROCESS.acquire(timeout=_POLL_INTERVAL):
            job.advance(0, 0, "waiting for another analysis")
        try:
            return run_task(
                what,
                runs,
                options,
                job.advance,
                publish=lambda early: job.publish(_without_paths(early, runs)),
                wait=lambda: _wait_for_rows(runs, job),
            )
        finally:
            _IN_PROCESS.release()
    except TensortapError as error:
        raise TensortapError(
            without_local_paths(error.message, *runs), without_local_paths(error.hint, *runs)
        ) from error
    except RemoteReadError as error:
        raise TensortapError(*no_answer_text(error)) from error


def _wait_for_rows(runs: tuple[RunIndex, ...], job: Job) -> None:
    for run in runs:
        run.wait_for_rows(job.advance)


def job_state(job: Job) -> dict[str, Any]:
    """How far it is, as answers say it."""
    return {
        "working": job.active,
        "progress": {"done": job.done, "total": job.total, "doing": job.doing},
        "error": job.error or None,
        "hint": job.hint,
    }


def found_by(job: Job) -> Any:
    """The result of the analysis; None until it did."""
    answer: Answer | None = job.result
    return None if answer is None else answer.found


def analysis_state(job: Job, *runs: RunIndex) -> dict[str, Any]:
    """How far the analysis of some runs is, and what is missing in what it found, as answers say it."""
    answer: Answer | None = job.result
    return job_state(job) | {"damage": missing_from(*runs) if answer is None else answer.damage}
