"""The analysing process: reads tasks from its standard input, tells progress and results on standard output.

It holds the runs it was asked about last, so that of a growing run only what was added is read. Messages are
pickled: they come from the process that started this one, and go to it, through pipes that nobody else has.
"""

from __future__ import annotations

import os
import pickle
import sys
import time
from collections import OrderedDict
from typing import IO, Any

from tensortap.core.errors import TensortapError
from tensortap.index.run_index import RunIndex, RunReplacedError
from tensortap.system.pandas_guard import spare_pandas

from .tasks import Place, Task, perform

_OPEN = 4  # runs that are held
_TELL = 0.1  # s between two messages about progress


class _Runs:
    """The runs that were asked about last, read on."""

    def __init__(self) -> None:
        self._open: OrderedDict[Place, RunIndex] = OrderedDict()

    def get(self, place: Place) -> RunIndex:
        run = self._open.pop(place, None) or place.open()
        try:
            while run.poll():
                pass
        except RunReplacedError:
            run = place.open()
            while run.poll():
                pass
        self._open[place] = run
        while len(self._open) > _OPEN:
            self._open.popitem(last=False)
        return run


class _Teller:
    """Tells how far it is, not more often than is useful."""

    def __init__(self, out: IO[bytes]) -> None:
        self._out = out
        self._told = float("-inf")

    def __call__(self, done: int, total: int, doing: str) -> None:
        if time.monotonic() - self._told >= _TELL:
            self._told = time.monotonic()
            _say(self._out, "advance", (done, total, doing))


def _say(out: IO[bytes], kind: str, what: Any) -> None:
    pickle.dump((kind, what), out, pickle.HIGHEST_PROTOCOL)
    out.flush()


def serve(source: IO[bytes], out: IO[bytes]) -> None:
    """Does tasks until there are no more."""
    runs = _Runs()
    while True:
        try:
            task: Task = pickle.load(source)
        except EOFError:
            return
        try:
            teller = _Teller(out)
            teller(0, 0, "reading")
            result = perform(task.what, [runs.get(place) for place in task.places], task.options, teller)
            _say(out, "result", result)
        except BrokenPipeError:
            return
        except TensortapError as error:
            _say(out, "refused", (error.message, error.hint))
        except Exception as error:  # of one task; the next may be fine
            _say(out, "error", type(error).__name__)


def main() -> None:
    """Keeps the pipe for itself: what else is printed (a user's rule may) goes to standard error."""
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    spare_pandas()
    try:
        serve(sys.stdin.buffer, out)
    except (KeyboardInterrupt, BrokenPipeError):
        os._exit(0)
