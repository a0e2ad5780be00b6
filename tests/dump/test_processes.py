"""Several processes write one run; a forked child never writes into its parent's files."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from dump_tools import read_all

from tensortap.dump.write.writer import DumpWriter

WRITE = """
import sys
import numpy as np
from tensortap.dump.write.writer import DumpWriter
with DumpWriter(sys.argv[1], rank=int(sys.argv[2])) as w:
    for step in range(250):
        w.log("x", np.full(500, step, np.float32), step=step)
"""


def test_two_processes_and_one_run(tmp_path: Path) -> None:
    command = [sys.executable, "-c", WRITE, str(tmp_path)]
    processes = [subprocess.Popen([*command, str(rank)]) for rank in range(2)]
    assert [process.wait(timeout=120) for process in processes] == [0, 0]
    found = read_all(tmp_path)
    assert len({row["worker"] for row in found.rows}) == 2
    assert len(found.rows) == 500
    assert found.damage == found.bad_values == []
    assert all(tail.closed for tail in found.tails)


def in_child(work: object) -> int:
    """Runs a function in a forked child and returns its exit status."""
    assert callable(work)
    pid = os.fork()
    if pid == 0:  # only `_exit` from here on: pytest must not go on twice
        try:
            work()
            os._exit(0)
        except BaseException:
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
# The point is to fork with threads; the child only uses what is safe then.
forking = pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")


@forking
def test_a_forked_child_is_a_worker_of_its_own(tmp_path: Path) -> None:
    with DumpWriter(tmp_path) as w:
        w.log("parent", np.ones(500), step=0)  # not committed yet: the child must not write it, too

        def work() -> None:
            w.log("child", np.zeros(500, np.float32), step=0)
            w.flush()
            w.close()

        assert in_child(work) == 0
        w.log("parent", np.ones(500), step=1)
    found = read_all(tmp_path)
    workers = {node: {r["worker"] for r in found.rows if r["node"] == node} for node in ("parent", "child")}
    assert len(workers["parent"]) == len(workers["child"]) == 1
    assert workers["parent"] != workers["child"]
    assert sorted((row["node"], row["step"]) for row in found.rows) == [
        ("child", 0),
        ("parent", 0),
        ("parent", 1),
    ]
    assert found.damage == found.bad_values == []
    assert all(tail.closed for tail in found.tails)


@forking
def test_a_child_that_writes_nothing_leaves_nothing(tmp_path: Path) -> None:
    with DumpWriter(tmp_path) as w:
        w.log("x", np.ones(500), step=0)
        assert in_child(w.close) == 0
        w.log("x", np.ones(500), step=1)
    found = read_all(tmp_path)
    assert len(found.tails) == 1
    assert [row["step"] for row in found.rows] == [0, 1]


@forking
def test_forking_while_another_thread_holds_the_lock(tmp_path: Path) -> None:
    with DumpWriter(tmp_path) as w:
        held, release = threading.Event(), threading.Event()

        def hold() -> None:
            with w._lock:
                held.set()
                release.wait(30)

        thread = threading.Thread(target=hold)
        thread.start()
        held.wait(30)

        def work() -> None:
            w.log("child", 1.0, step=0)
            w.close()

        assert in_child(work) == 0
        release.set()
        thread.join()
    assert [row["node"] for row in read_all(tmp_path).rows] == ["child"]
