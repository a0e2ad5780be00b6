"""The engine of this machine: this process, and others that are started for the work and end with it."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from functools import partial
from typing import Self

from tensortap.core.errors import TensortapError
from tensortap.core.progress import AdvanceCount, ignore_count
from tensortap.system.subprocess_worker import Cancellation, ChildEndedError, ChildFailedError, ChildPool

from .engine import ATTEMPTS
from .task import Record, Task, run_task, task_name


class LocalEngine:
    """Runs tasks in at most `processes` processes. This one is the first, and works while others start.

    `idle`: for a process that must answer others meanwhile, as a server: it runs only single tasks, and other
    processes end after that many seconds without work, also before the engine is closed.
    """

    def __init__(self, processes: int, idle: float | None = None) -> None:
        self._processes, self._takes_part = processes, idle is None
        self._pool = ChildPool("scale.task", most=processes, idle=idle)

    def map(
        self, task: Task, arguments: Sequence[Record], advance: AdvanceCount = ignore_count
    ) -> list[Record]:
        """See `Engine.map`."""
        name, total = task_name(task), len(arguments)
        remaining, lock = iter(range(total)), threading.Lock()
        answers: dict[int, Record] = {}
        advance(0, total)

        def work(answer_to: Callable[[Record], Record]) -> None:
            try:
                while (index := next(remaining, None)) is not None:
                    answer = answer_to(arguments[index])
                    with lock:
                        answers[index] = answer
                        advance(len(answers), total)
            except BaseException:
                deque(remaining, maxlen=0)  # starts nothing more
                raise

        processes = min(total, self._processes)
        takes_part = self._takes_part or processes <= 1
        cancellations = [Cancellation() for _ in range(processes - takes_part)]
        with ThreadPoolExecutor(self._processes) as threads:
            others = [threads.submit(work, partial(self._ask, name, each)) for each in cancellations]
            try:
                if takes_part:
                    work(partial(run_task, name))
                for other in as_completed(others):
                    other.result()
            except BaseException:  # Ctrl-C, too
                deque(remaining, maxlen=0)
                for cancellation in cancellations:
                    cancellation.cancel()
                raise
        return [answers[index] for index in range(total)]

    def _ask(self, name: str, cancellation: Cancellation, argument: Record) -> Record:
        request = {"task": name, "argument": argument}
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
