"""How a process ends: by Ctrl-C while it is imported, and while its threads are at work."""

from __future__ import annotations

import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tensortap.cli.exit import INTERRUPTED, interrupted_at_once, status_of

# A signal just before a blocking wait would only be handled after it, so these programs wait in a loop.
_IMPORTING = """
from tensortap.cli.exit import interrupted_at_once
with interrupted_at_once():
    try:
        print("importing", flush=True)
        while True:
            pass
    except KeyboardInterrupt:
        raise ImportError("half of a module")
"""
_AT_WORK = """
import atexit, threading
from tensortap.cli.exit import exit_now
threading.Thread(target=threading.Event().wait).start()
atexit.register(print, "tidied up")
print("done", end=" ")
exit_now(3)
"""
_TIDYING_UP = """
import atexit
from tensortap.cli.exit import exit_now
def tidy_up():
    print("tidying up", flush=True)
    while True:
        pass
atexit.register(tidy_up)
print("done", end=" ")
exit_now(3)
"""
_SERVING = """
import sys
from tensortap.__main__ import main
from tensortap.server.serve import Server
Server.run = lambda server: sys.exit(3)
main(["serve", sys.argv[1], "--port", "0"])
"""


def test_an_interrupted_import_ends_the_process_quietly() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", _IMPORTING], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "importing\n"
        process.send_signal(signal.SIGINT)
        try:
            out, err = process.communicate(timeout=60)
        finally:
            process.kill()
    assert (process.returncode, out, err) == (INTERRUPTED, "", "")


def test_ctrl_c_means_what_it_did_afterwards() -> None:
    before = signal.getsignal(signal.SIGINT)
    with interrupted_at_once():
        pass
    assert signal.getsignal(signal.SIGINT) is before


def test_a_process_leaves_while_threads_are_at_work() -> None:
    done = subprocess.run([sys.executable, "-c", _AT_WORK], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (3, "done tidied up\n", "")


@pytest.mark.parametrize("by", [signal.SIGINT, signal.SIGTERM])
def test_what_is_tidied_up_can_be_ended(by: signal.Signals) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", _TIDYING_UP], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "done tidying up\n"
        process.send_signal(by)
        try:
            out, err = process.communicate(timeout=60)
        finally:
            process.kill()
    assert (process.returncode, out, err) == (3, "", "")


def test_serve_ends_with_the_status_that_it_was_ended_with(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _SERVING, str(tmp_path)], capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stderr) == (3, "")


def test_a_status_is_what_the_interpreter_makes_of_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert [status_of(SystemExit(code)) for code in (None, 0, 7, True)] == [0, 0, 7, 1]
    assert status_of(SystemExit("no room")) == 1
    assert capsys.readouterr().err == "no room\n"


@pytest.mark.parametrize("command", [["--version"], ["import", "--formats"]])
@pytest.mark.parametrize("stdout", [">&-", "| true", "2>&- >&-"])
def test_nobody_need_read_what_is_printed(tmp_path: Path, command: list[str], stdout: str) -> None:
    """GIVEN a stdout that is closed, or a pipe that nobody reads."""
    words = shlex.join([sys.executable, "-m", "tensortap", *command])
    shell = ["bash", "-c", f"set -o pipefail; {words} {stdout}"]
    done = subprocess.run(shell, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
