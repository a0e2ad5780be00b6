"""How `tensortap` exits: quietly on Ctrl-C, and without waiting for threads in native code."""

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
    """While the body runs, let Ctrl-C end the process without a traceback.

    For imports: they turn a KeyboardInterrupt into other errors, and take seconds on a busy machine.
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


def exit_now(status: int) -> NoReturn:
    """Ends the process now: flushes its output and removes its temporary files.

    The interpreter's own end waits for a thread that is in native code, or aborts in it.
    Cleanup may take long, e.g. a tap that waits for training to pause: Ctrl-C and SIGTERM end it, with the
    same status.
    """

    def end(number: int, frame: FrameType | None) -> None:
        os._exit(status)

    with contextlib.suppress(ValueError):  # not the main thread
        signal.signal(signal.SIGINT, end)
        signal.signal(signal.SIGTERM, end)
    _write_out()
    atexit._run_exitfuncs()
    _write_out()
    os._exit(status)


def status_of(ended: SystemExit) -> int:
    """The exit status of the interpreter; prints the reason like the interpreter, if there is one."""
    if ended.code is None or isinstance(ended.code, int):
        return ended.code or 0
    print(ended.code, file=sys.stderr)
    return 1


def _write_out() -> None:
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()


def _end(number: int, frame: FrameType | None) -> None:
    os._exit(INTERRUPTED)
