"""How a process ends: by Ctrl-C while it is imported, and while its threads are at work."""

from __future__ import annotations

import signal
import subprocess
import sys

from tensortap.ending import INTERRUPTED, interrupted_at_once

_IMPORTING = """
import threading
from tensortap.ending import interrupted_at_once
with interrupted_at_once():
    try:
        print("importing", flush=True)
        threading.Event().wait(60)
    except KeyboardInterrupt:
        raise ImportError("half of a module")
"""
_AT_WORK = """
import atexit, threading
from tensortap.ending import leave
threading.Thread(target=threading.Event().wait).start()
atexit.register(print, "tidied up")
print("done", end=" ")
leave(3)
"""


def test_an_interrupted_import_ends_the_process_quietly() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", _IMPORTING], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "importing\n"
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (INTERRUPTED, "", "")


def test_ctrl_c_means_what_it_did_afterwards() -> None:
    before = signal.getsignal(signal.SIGINT)
    with interrupted_at_once():
        pass
    assert signal.getsignal(signal.SIGINT) is before


def test_a_process_leaves_while_threads_are_at_work() -> None:
    done = subprocess.run([sys.executable, "-c", _AT_WORK], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (3, "done tidied up\n", "")
