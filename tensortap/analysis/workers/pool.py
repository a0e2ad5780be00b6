"""The processes that analyse: a few, started when there is work, ended when there was none for a while."""

from __future__ import annotations

import contextlib
import pickle
import subprocess
import threading
from collections.abc import Callable
from typing import Any

from tensortap.core.errors import TensortapError
from tensortap.system.child_process import own_module, start_process

from .tasks import Advance, Task

MOST = 2  # processes: more analyses at once would only slow each other
IDLE = 300.0  # s after which a process that has nothing to do is ended


Begun = Callable[[Callable[[], None] | None], None]


class AnalystEndedError(Exception):
    """The process ended before it had a result: it was told to, or needed more memory than there is."""


class Analysts:
    """Lends out analysing processes. Any number of threads may call `do`; they wait for each other.

    Args:
        most: processes at a time. idle: seconds after which one without work is ended.
    """

    def __init__(self, most: int = MOST, idle: float = IDLE) -> None:
        self._free = threading.BoundedSemaphore(most)
        self._idle = idle
        self._resting: list[_Analyst] = []
        self._lock = threading.Lock()

    def do(self, task: Task, advance: Advance, begun: Begun) -> Any:
        """The result of a task.

        Args:
            advance: told how far it is. begun: given the function that ends the work, from any thread; given
                None once that is of no use any more, and it must be called no more when this returns.

        Raises:
            AnalystEndedError: the work was ended, or the process was. TensortapError: as the task raised it.
            RuntimeError: the task raised something else.
        """
        with self._free:
            analyst = self._rested() or _Analyst()
            try:
                begun(analyst.end)
                result = analyst.do(task, advance)
            except (RuntimeError, TensortapError):
                self._rest(analyst, begun)
                raise
            except BaseException:
                begun(None)
                analyst.close()  # what it would still say belongs to this task
                raise
            self._rest(analyst, begun)
            return result

    def _rested(self) -> _Analyst | None:
        with self._lock:
            while self._resting:
                analyst = self._resting.pop()
                analyst.wake()
                if analyst.alive:
                    return analyst
                analyst.close()
        return None

    def _rest(self, analyst: _Analyst, begun: Begun) -> None:
        begun(None)  # first: from here on it may work for somebody else
        with self._lock:
            self._resting.append(analyst)
            analyst.rest(self._idle, self._end_idle)

    def _end_idle(self, analyst: _Analyst, rests: int) -> None:
        with self._lock:
            if analyst not in self._resting or analyst.rests != rests:  # it was lent meanwhile
                return
            self._resting.remove(analyst)
        analyst.close()

    def close(self) -> None:
        """Ends the processes that rest."""
        with self._lock:
            resting, self._resting = self._resting, []
        for analyst in resting:
            analyst.close()


class _Analyst:
    """One process. `rests`: how often it had nothing to do."""

    def __init__(self) -> None:
        self.rests = 0
        self._timer: threading.Timer | None = None
        self._process = start_process(own_module("analysis"), stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def rest(self, seconds: float, end: Callable[[_Analyst, int], None]) -> None:
        """Has `end` called, with how often it rested, unless it is woken before that."""
        self.rests += 1
        self._timer = threading.Timer(seconds, end, (self, self.rests))
        self._timer.daemon = True
        self._timer.start()

    def wake(self) -> None:
        """Nobody is to end it for having nothing to do."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def do(self, task: Task, advance: Advance) -> Any:
        """Raises AnalystEndedError, TensortapError and RuntimeError (of the task), what `advance` raises."""
        source, out = self._process.stdin, self._process.stdout
        assert source is not None and out is not None
        try:
            pickle.dump(task, source, pickle.HIGHEST_PROTOCOL)
            source.flush()
            while True:
                kind, what = pickle.load(out)
                if kind == "result":
                    return what
                if kind == "refused":
                    raise TensortapError(*what)
                if kind == "error":
                    raise RuntimeError(what)
                advance(*what)
        except (EOFError, OSError, pickle.UnpicklingError) as error:
            raise AnalystEndedError(f"status {self._process.poll()}") from error

    def end(self) -> None:
        """Ends the process, whatever it does; who waits for it in `do`, in another thread, is told."""
        with contextlib.suppress(OSError):
            self._process.kill()
        self._process.wait()

    def close(self) -> None:
        """Ends the process and closes its pipes. Only where no thread is in `do`."""
        self.wake()
        self.end()
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            with contextlib.suppress(OSError):  # what it was asked last was not read
                pipe.close()
