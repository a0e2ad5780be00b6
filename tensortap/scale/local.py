"""The engine of this machine: processes that are started for the work, and end with it."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from typing import Self

from tensortap.core.errors import TensortapError
from tensortap.core.progress import AdvanceCount, ignore_count
from tensortap.system.subprocess_worker import Cancellation, ChildEndedError, ChildFailedError, ChildPool

from .engine import ATTEMPTS
from .task import Record, Task, run_task, task_name


class LocalEngine:
    """Runs tasks in at most `processes` processes; a single task, or one process, is this one.

    `idle`: seconds without work after which the processes end, also before the engine is closed.
    """

    def __init__(self, processes: int, idle: float | None = None) -> None:
        self._processes = processes
        self._pool = ChildPool("scale.task", most=processes, idle=idle)

    def map(
        self, task: Task, arguments: Sequence[Record], advance: AdvanceCount = ignore_count
    ) -> list[Record]:
        """See `Engine.map`."""
        total, done = len(arguments), 0
        name = task_name(task)
        advance(0, total)
        if min(total, self._processes) <= 1:
            answers = []
            for argument in arguments:
                answers.append(run_task(name, argument))
                advance(len(answers), total)
            return answers
        lock, cancellations = threading.Lock(), [Cancellation() for _ in arguments]

        def ask(index: int) -> Record:
            nonlocal done
            answer = self._ask({"task": name, "argument": arguments[index]}, cancellations[index])
            with lock:
                done += 1
                advance(done, total)
            return answer

        with ThreadPoolExecutor(min(total, self._processes)) as threads:
            futures = [threads.submit(ask, index) for index in range(total)]
            try:
                wait(futures, return_when=FIRST_EXCEPTION)
                for future in futures:
                    if future.done():
                        future.result()
                return [future.result() for future in futures]
            except BaseException:  # Ctrl-C, too
                for future in futures:
                    future.cancel()
                for cancellation in cancellations:
                    cancellation.cancel()
                raise

    def _ask(self, request: Record, cancellation: Cancellation) -> Record:
        for attempt in range(1, ATTEMPTS + 1):
            try:
                answer, data = self._pool.ask(request, cancellation=cancellation)
            except ChildEndedError as error:
                if attempt == ATTEMPTS or cancellation.cancelled:
                    hint = "There may be too little memory: use fewer processes (--processes)."
                    raise TensortapError(f"A task's process died {attempt} times: {error}.", hint) from error
            except ChildFailedError as error:
                raise TensortapError(f"A task failed with {error}.") from error
            else:
                found: Record = {**answer, "data": data} if data else answer
                return found
        raise AssertionError

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self._pool.close()
