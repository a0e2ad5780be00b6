"""Worker processes: requests, progress, limits, cancellation, and every way in which one can end."""

from __future__ import annotations

import contextlib
import gc
import os
import sys
import threading
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from polling import until

from tensortap.core.errors import TensortapError
from tensortap.system.subprocess_worker import (
    Cancellation,
    ChildEndedError,
    ChildFailedError,
    ChildPool,
    ChildProcess,
)

PROGRAM = """
import os, sys, time
from tensortap.core.errors import TensortapError
from tensortap.system.subprocess_worker import serve

def handle(request, progress):
    do = request["do"]
    if do == "say":
        print("printed by somebody's code")
        progress([1, 2, "half"])
        return {"said": request["text"], "pid": os.getpid()}, b"raw" * request.get("times", 0)
    if do == "hang":
        time.sleep(600)
    if do == "refuse":
        raise TensortapError("Not this.", "That.")
    if do == "fail":
        raise KeyError("of this request")
    if do == "die":
        sys.stderr.write("first\\nout of luck\\n")
        os._exit(7)
    if do == "memory":
        raise MemoryError

serve(handle)
"""
BROKEN = """
import sys
sys.stdout.buffer.write({})
sys.stdout.buffer.flush()
sys.stdin.read()
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    return path


@pytest.fixture
def pool(program: Path) -> Iterator[ChildPool]:
    made = ChildPool(program, capture_errors=True)
    yield made
    made.close()


def say(pool: ChildPool, text: str = "hello", **options: Any) -> dict[str, Any]:
    found: dict[str, Any] = pool.ask({"do": "say", "text": text}, **options)[0]
    return found


def test_answers_come_with_progress_and_bytes_and_one_worker_stays(pool: ChildPool) -> None:
    seen: list[Any] = []
    answer, data = pool.ask({"do": "say", "text": "ü\n", "times": 100_000}, progress=seen.append)
    assert (answer["said"], len(data), seen) == ("ü\n", 300_000, [[1, 2, "half"]])
    assert say(pool)["pid"] == answer["pid"]


def test_a_request_that_cannot_be_answered_leaves_the_worker_for_the_next(pool: ChildPool) -> None:
    pid = say(pool)["pid"]
    with pytest.raises(TensortapError, match=r"Not this\. That\."):
        pool.ask({"do": "refuse"})
    with pytest.raises(ChildFailedError, match="KeyError"):
        pool.ask({"do": "fail"})
    assert say(pool)["pid"] == pid


def test_a_worker_that_dies_says_how_and_is_followed_by_another(pool: ChildPool) -> None:
    with pytest.raises(ChildEndedError) as ended:
        pool.ask({"do": "die"})
    assert (ended.value.status, ended.value.late, ended.value.last_line) == (7, False, "out of luck")
    with pytest.raises(ChildEndedError) as ended:
        pool.ask({"do": "memory"})
    assert (ended.value.status, ended.value.last_line) == (1, "MemoryError")
    assert say(pool)["said"] == "hello"


def test_a_worker_that_hangs_is_ended_in_time(pool: ChildPool) -> None:
    with pytest.raises(ChildEndedError) as ended:
        pool.ask({"do": "hang"}, seconds=0.5)
    assert ended.value.late
    assert say(pool, seconds=60.0)["said"] == "hello"


def test_a_request_is_cancelled_from_another_thread_or_before_it_began(pool: ChildPool) -> None:
    pid = say(pool)["pid"]
    cancellation = Cancellation()
    timer = threading.Timer(0.2, cancellation.cancel)
    timer.start()
    with pytest.raises(ChildEndedError) as ended:
        pool.ask({"do": "hang"}, cancellation=cancellation)
    assert not ended.value.late
    with pytest.raises(ChildEndedError):
        say(pool, cancellation=cancellation)
    assert say(pool)["pid"] != pid


@pytest.mark.skipif(os.name != "posix", reason="there are no process groups")
def test_ctrl_c_in_a_terminal_reaches_only_this_process(pool: ChildPool) -> None:
    pid = say(pool)["pid"]
    assert os.getpgid(pid) == pid != os.getpgrp()


def test_cancelling_what_is_through_ends_nothing(pool: ChildPool) -> None:
    """Another request may have that worker by now."""
    cancellation = Cancellation()
    pid = say(pool, cancellation=cancellation)["pid"]
    cancellation.cancel()
    assert say(pool)["pid"] == pid


def test_an_interrupted_request_is_not_answered_to_the_next_one(pool: ChildPool) -> None:
    def interrupt(_: Any) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        say(pool, "first", progress=interrupt)
    assert say(pool, "second")["said"] == "second"


@pytest.mark.parametrize(
    "data",
    [b"no json\n", b"[1]\n", b'{"bytes": -1}\n', b'{"bytes": 1e99}\n', b'{"bytes": 99}\nfew', b"[" * 100_000],
    ids=lambda data: ascii(data[:12]),
)
def test_what_is_no_message_ends_a_worker(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "broken.py"
    path.write_text(BROKEN.format(data))
    with ChildProcess(path) as worker:
        if not data.endswith(b"\n"):
            threading.Timer(1.0, worker.kill).start()  # the rest of it never comes
        with pytest.raises(ChildEndedError):
            worker.receive()
        assert not worker.alive


@pytest.mark.parametrize("how", ["closed", "idle", "cancelled", "found dead"])
def test_an_ended_worker_leaves_no_pipe_open(program: Path, how: str) -> None:
    pool = ChildPool(program, idle=0.0 if how == "idle" else 300.0, capture_errors=True)
    before = set(threading.enumerate())
    gc.collect()
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always", ResourceWarning)
        cancellation = Cancellation()
        if how == "cancelled":
            cancellation.cancel()
        with contextlib.suppress(ChildEndedError):
            pid = say(pool, cancellation=cancellation)["pid"]
        if how == "found dead":
            os.kill(pid, 9)
            until(lambda: _is_zombie(pid), "its end")
            assert say(pool)["pid"] != pid
        for thread in set(threading.enumerate()) - before if how == "idle" else ():
            thread.join()
        pool.close()
        del pool
        gc.collect()
    assert not [str(one.message) for one in warned if one.category is ResourceWarning]


def _is_zombie(pid: int) -> bool:
    if sys.platform != "linux":
        time.sleep(1.0)
        return True
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
