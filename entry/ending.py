"""The end of a process: by Ctrl-C before there is anything to tidy up, and while threads are at work."""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import sys
import threading
from collections.abc import Iterator
from types import FrameType
from typing import NoReturn

INTERRUPTED = 130  # what shells say of a program that Ctrl-C ended


@contextlib.contextmanager
def interrupted_at_once() -> Iterator[None]:
    """In the body, Ctrl-C ends the process quietly.

    For imports: they turn a KeyboardInterrupt into errors of their own, and take seconds on a busy machine.
    """
    mine = threading.current_thread() is threading.main_thread()
    if not mine or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    signal.signal(signal.SIGINT, _end)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def leave(status: int) -> NoReturn:
    """Ends the process now: what it printed is written, its temporary files are removed.

    The interpreter's own end waits for a thread that is in native code, or aborts in it.
    """
    with contextlib.suppress(ValueError):  # not the main thread
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # a second Ctrl-C finds nothing to end any more
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit(status)


def _end(number: int, frame: FrameType | None) -> None:
    os._exit(INTERRUPTED)
