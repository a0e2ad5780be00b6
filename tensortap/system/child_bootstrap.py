"""Run first in each process of tensortap's own: `python -P child_bootstrap.py ROOT MODULE-OR-FILE …`.

It binds itself to the process that started it (`subprocess_worker.start_process`): when that ends, however it
ends, this one is ended at once. The parent holds the one end of a pipe, this process the other; nothing is
written to it, and it closes when the parent ends. On Linux, the system then kills this process by itself,
also while native code holds Python's lock. No thread may wait for that there: a process with threads cannot
leave the network (`tensortap/system/sandbox.py`). Elsewhere a thread waits.

Imports nothing of tensortap, so that the process starts fast.
"""

from __future__ import annotations

import os
import runpy
import select
import signal
import sys
import threading

PARENT_PIPE = "TENSORTAP_PARENT"  # the environment variable that holds the pipe's file descriptor


def end_with_parent() -> None:
    """Makes this process end with its parent, if the parent requested it."""
    text = os.environ.pop(PARENT_PIPE, "")  # not for processes that are started from here
    if not text:
        return
    pipe = int(text)
    os.set_inheritable(pipe, False)
    if sys.platform == "linux":
        import fcntl

        fcntl.fcntl(pipe, fcntl.F_SETOWN, os.getpid())
        fcntl.fcntl(pipe, fcntl.F_SETSIG, signal.SIGKILL)
        fcntl.fcntl(pipe, fcntl.F_SETFL, fcntl.fcntl(pipe, fcntl.F_GETFL) | os.O_ASYNC)
        if select.select([pipe], [], [], 0)[0]:  # it ended before: no signal comes any more
            _end()
    else:
        threading.Thread(target=wait_for_end, args=(pipe,), name="tensortap-parent", daemon=True).start()


def wait_for_end(pipe: int) -> None:
    """Ends this process when the other end of a pipe is closed."""
    os.read(pipe, 1)
    _end()


def _end() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def main() -> None:
    """Runs a module of the package, found in ROOT if that is not empty, or a file."""
    end_with_parent()
    root, what = sys.argv[1:3]
    del sys.argv[1:3]
    sys.path += [root] * bool(root)
    if what.endswith(".py"):
        runpy.run_path(what, run_name="__main__")
        return
    runpy.run_module(what, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
