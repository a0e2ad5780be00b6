"""Processes that tensortap starts end with the one that started them, however that ends."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import h5py
import pytest
from polling import until

from tensortap.system import child_bootstrap
from tensortap.system.subprocess_worker import own_command, start_process

pytestmark = pytest.mark.slow

CHECKOUT = Path(__file__).parents[2]
Start = Callable[..., list[int]]
ALL = """
import json, sys, time
from pathlib import Path
from tensortap.importers.arrays import hdf5
from tensortap.system.subprocess_worker import ChildProcess

replay, analysis = ChildProcess("replay", str(1 << 30)), ChildProcess("server.jobs.analysis_worker")
datasets = hdf5._datasets(Path(sys.argv[1]), "a file")
next(datasets)
pids = [replay.pid, analysis.pid, datasets.gi_frame.f_locals["child"].pid]
print(json.dumps(pids), flush=True)
time.sleep(600)
"""
FORKED = """
import json, os, subprocess, sys, threading, time
from pathlib import Path
from tensortap.system.subprocess_worker import own_command, start_process

made = []
def start(): made.append(start_process(own_command(Path(sys.argv[1])), stdout=subprocess.PIPE))
for _ in range(2):
    thread = threading.Thread(target=start)
    thread.start()
    thread.join()
for process in made:
    process.stdout.readline()
made[1].kill()
made[1].wait()
fork = os.fork()
if fork:
    print(json.dumps([made[0].pid, fork]), flush=True)
time.sleep(600)
"""
OF_A_FORK = """
import os, subprocess, sys
from pathlib import Path
from tensortap.system.subprocess_worker import own_command, start_process

script = own_command(Path(sys.argv[1]))
parents = start_process(script, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
fork = os.fork()
if fork:
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(fork, 0)[1]) or parents.wait())
own = start_process(script, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
own.stdout.readline()
parents.returncode = 0  # nobody asks for it here
del parents
own.communicate(b"the end")
os._exit(abs(own.returncode))
"""
READING = "import sys; print('begun', flush=True); sys.stdin.read()"
TELLING = f"""
import fcntl, os
def is_open(fd):
    try: return bool(fcntl.fcntl(fd, fcntl.F_GETFD) + 1)
    except OSError: return False
inherited = [fd for fd in range(3, 64) if is_open(fd) and os.get_inheritable(fd)]
print({child_bootstrap.PARENT_PIPE!r} in os.environ, inherited)
"""
HOLDING = "print('begun', flush=True)\nimport re\nre.match('(a+)+$', 'a' * 60 + 'b')  # holds Python's lock"


@pytest.fixture
def start() -> Iterator[tuple[Callable[..., subprocess.Popen[str]], Start]]:
    """Starts a program that tells the ids of processes; all of them are ended after the test."""
    started: list[subprocess.Popen[str]] = []
    reported: list[int] = []

    def program(code: str, *arguments: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-c", code, *arguments]
        started.append(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
        return started[-1]

    def ids(process: subprocess.Popen[str]) -> list[int]:
        assert process.stdout is not None
        reported.extend(json.loads(process.stdout.readline()))
        return reported

    yield program, ids
    for pid in reported:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    for process in started:
        process.kill()
        process.communicate()


def is_bound(pid: int) -> bool:
    """Whether the system watches a file for the process (O_ASYNC)."""
    texts = []
    for file in Path(f"/proc/{pid}/fdinfo").iterdir():
        with contextlib.suppress(FileNotFoundError):  # closed meanwhile
            texts.append(file.read_text())
    return any(int(text.split("flags:")[1].split()[0], 8) & os.O_ASYNC for text in texts)


def has_ended(pid: int) -> bool:
    """Whether a process is gone, or waits for somebody to ask for its status."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return True


@pytest.mark.skipif(
    sys.platform != "linux", reason="elsewhere a thread waits, which a stopped process has not"
)
def test_whoever_replays_analyses_or_reads_ends_with_a_killed_parent(
    start: tuple[Callable[..., subprocess.Popen[str]], Start], tmp_path: Path
) -> None:
    """GIVEN processes of each kind, stopped, so that they themselves do nothing WHEN their parent is killed
    THEN they are ended."""
    program, ids = start
    with h5py.File(tmp_path / "some.h5", "w") as file:
        file["first"], file["then"] = [0.0] * 1_000_000, [1.0] * 1_000_000  # more than a pipe holds: it waits
    parent = program(ALL, str(tmp_path / "some.h5"))
    children = ids(parent)
    for child in children:
        until(lambda child=child: is_bound(child), "its bond")
        os.kill(child, signal.SIGSTOP)
    assert not any(map(has_ended, children))
    parent.kill()
    for child in children:
        until(lambda child=child: has_ended(child), "the end of a process")


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a thread waits, which needs Python's lock")
def test_neither_native_code_nor_a_fork_keeps_it(
    start: tuple[Callable[..., subprocess.Popen[str]], Start], tmp_path: Path
) -> None:
    """GIVEN a process in code that holds Python's lock, started by a thread that has ended, beside another
    one that has, and a fork of its parent WHEN the parent is killed THEN it is ended, the fork is not."""
    program, ids = start
    script = tmp_path / "holding.py"
    script.write_text(HOLDING)
    parent = program(FORKED, str(script))
    child, fork = ids(parent)
    assert not has_ended(child)
    parent.kill()
    until(lambda: has_ended(child), "the end of a process")
    assert not has_ended(fork)


@pytest.mark.skipif(os.name != "posix", reason="has no fork")
def test_a_fork_ends_no_process_of_its_own_with_what_it_inherited(tmp_path: Path) -> None:
    """WHEN the fork forgets a process of its parent, whose pipe had the number that its own process's has."""
    script = tmp_path / "reading.py"
    script.write_text(READING)
    subprocess.run([sys.executable, "-c", OF_A_FORK, str(script)], check=True, timeout=60)


def test_where_the_system_does_not_end_it_a_thread_does() -> None:
    line, held = os.pipe()
    code = (
        "import sys; from tensortap.system.child_bootstrap import wait_for_end;wait_for_end(int(sys.argv[1]))"
    )
    process = subprocess.Popen([sys.executable, "-c", code, str(line)], pass_fds=[line])
    os.close(line)
    assert process.poll() is None
    os.close(held)
    assert process.wait(60) == -signal.SIGKILL


def test_a_process_hands_nothing_of_it_on(tmp_path: Path) -> None:
    """Neither the variable nor the open file: a process that it starts is not this one's to end."""
    script = tmp_path / "telling.py"
    script.write_text(TELLING)
    before = set(Path("/dev/fd").iterdir())
    with start_process(own_command(script), stdout=subprocess.PIPE, text=True) as process:
        assert process.communicate(timeout=60)[0] == "False []\n"
    del process
    assert set(Path("/dev/fd").iterdir()) == before


def test_processes_are_started_in_one_place() -> None:
    """Beside it, what tries numba, which ends by itself."""
    rooms = [path.parent for path in CHECKOUT.glob("*/__init__.py") if path.parent.name != "tests"]
    starting = {
        str(path.relative_to(CHECKOUT))
        for room in rooms
        for path in room.rglob("*.py")
        if re.search(r"\bsubprocess\.\w+\(|\bos\.(fork|exec|spawn|posix_spawn)", path.read_text("utf-8"))
    }
    assert starting == {
        "tensortap/system/subprocess_worker.py",
        "tensortap/stats/numba_guard.py",
    }
