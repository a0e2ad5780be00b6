"""However a writing process ends, what `flush` has answered for is read back."""

from __future__ import annotations

import errno
import json
import subprocess
import sys
from pathlib import Path

import pytest
from dump_tools import read_all
from failing_disk import SYNC, run_on_failing_disk

pytestmark = pytest.mark.slow

WRITE = """
import ctypes, multiprocessing, os, signal, sys, threading
import numpy as np
from tensortap.dump.write.writer import DumpWriter

def log(writer, name, steps):
    for step in range(steps):
        writer.log(name, np.full(3000, step, np.int32), step=step)
    writer.flush()

def spawned(logdir):
    with DumpWriter(logdir) as own:
        log(own, "spawned", 3)

if __name__ == "__main__":
    logdir, how = sys.argv[1:]
    writer = DumpWriter(logdir)
    log(writer, "x", 5)
    print("acknowledged", flush=True)
"""
ENDS = {
    "SIGTERM": "os.kill(os.getpid(), signal.SIGTERM)",
    "SIGKILL": "os.kill(os.getpid(), signal.SIGKILL)",
    "exit": "os._exit(3)",
    "segfault": "ctypes.string_at(0)",
    "raise": "raise RuntimeError('of the program')",
}


def end(folder: Path, how: str) -> subprocess.CompletedProcess[str]:
    """Runs the program with that last line, from a file, as spawning needs one."""
    program = folder / "program.py"
    program.write_text(WRITE + "".join(f"    {line}\n" for line in how.splitlines()))
    return subprocess.run(
        [sys.executable, str(program), str(folder / "logs"), how[:10]],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.mark.skipif(sys.platform == "win32", reason="needs signals")
@pytest.mark.parametrize("how", ENDS)
def test_what_was_acknowledged_is_there(tmp_path: Path, how: str) -> None:
    done = end(tmp_path, f"writer.log('x', np.ones(3000, np.int32), step=5)\n{ENDS[how]}")
    assert done.returncode != 0 and "acknowledged" in done.stdout
    found = read_all(tmp_path / "logs")
    assert found.bad_values == found.damage == []
    steps = [row["step"] for row in found.rows if row["node"] == "x"]
    assert steps[:5] == list(range(5)) and set(steps) <= set(range(6))
    assert all((found.values["x", 0, seq] == seq).all() for seq in range(5))


OTHERS = """
children = []
for i in range(2):
    children.append(os.fork())
    if not children[i]:
        log(writer, "forked", 3)
        os._exit(0)
process = multiprocessing.get_context("spawn").Process(target=spawned, args=(logdir,))
process.start()
threads = [threading.Thread(target=log, args=(writer, f"thread{i}", 20)) for i in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
process.join()
for child in children: os.waitpid(child, 0)
log(writer, "y", 2)
writer.close()
"""


@pytest.mark.skipif(not hasattr(__import__("os"), "fork"), reason="needs fork")
def test_forked_and_spawned_processes_and_threads_at_once(tmp_path: Path) -> None:
    done = end(tmp_path, OTHERS)
    assert done.returncode == 0, done.stderr
    found = read_all(tmp_path / "logs")
    assert found.bad_values == found.damage == []
    counts = {
        node: sum(row["node"] == node for row in found.rows) for node in {r["node"] for r in found.rows}
    }
    threads = {f"thread{i}": 20 for i in range(4)}
    # Each child is a worker of its own, and what the parent had not committed stays the parent's.
    assert counts == {"x": 5, "y": 2, "spawned": 3, "forked": 6, **threads}
    assert len(found.tails) == 4


SYNCED = """
import json, sys
import numpy as np
from failing_disk import failing
from tensortap.dump.write.writer import DumpWriter
calls, error = json.loads(sys.argv[2])
writer, refused = DumpWriter(sys.argv[1], fsync=True), 0
for step in range(9):
    writer.log("x", np.full(3000, step, np.int32), step=step)
    if 3 <= step < 6:
        with failing(calls, error):
            try:
                writer.flush()
            except OSError:
                refused += 1
    else:
        writer.flush()
writer.close()
print(refused)
"""


def test_a_disk_that_cannot_sync_is_reported_and_heals(tmp_path: Path) -> None:
    done = run_on_failing_disk(SYNCED, tmp_path / "logs", json.dumps([SYNC, errno.EIO]))
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) == 3, "who asked for durability is told that there is none"
    found = read_all(tmp_path / "logs")
    assert found.bad_values == found.damage == []
    assert [row["step"] for row in found.rows] == list(range(9))
