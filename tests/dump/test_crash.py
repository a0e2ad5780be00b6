"""A writer is killed with SIGKILL at random moments: everything `flush` has answered for is read back."""

from __future__ import annotations

import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from dump_tools import DumpContents, read_all
from polling import until

from tensortap.dump.read.runs import RunReader
from tensortap.dump.read.values_reader import read_value, value_ref

pytestmark = pytest.mark.slow
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="needs O_DIRECT")

# Values of many sizes, known from their step; small shards and files, so that kills hit rotations, too.
WRITE = """
import sys
import numpy as np
from tensortap.dump.write.writer import DumpWriter
from tensortap.dump.write import stats_writer, values_writer
from tensortap.storage import append_file
stats_writer.ROTATE, values_writer.MAX_SHARD = 60_000, 300_000
if len(sys.argv) > 2:
    append_file.bypasses_page_cache = lambda folder: sys.argv[2] == "direct"
    append_file.CHUNK, append_file.DIRECT_FROM = 64 << 10, 16 << 10
SIZES = [1, 10, 300, 5_000, 20_000, 100_000, 80_000]  # the last one begins another shard
with DumpWriter(sys.argv[1]) as w:
    for step in range(1_000_000):
        for i, size in enumerate(SIZES):
            w.log(f"x{i}", np.full(size, step * 10 + i, np.int32), step=step)
        w.flush()
        print(step, flush=True)
"""
SIZES = [1, 10, 300, 5_000, 20_000, 100_000, 80_000]  # the last one begins another shard


def check(found: DumpContents, acknowledged: int) -> None:
    """Every acknowledged row is there once, with its value; nothing that was read is wrong."""
    assert found.bad_values == []
    rows = {(row["node"], row["step"]) for row in found.rows}
    assert len(rows) == len(found.rows) == len(found.values)
    expected = {(f"x{i}", step) for step in range(acknowledged + 1) for i in range(len(SIZES))}
    assert expected <= rows
    for row in found.rows:
        value = found.values[row["node"], 0, row["seq"]]
        number = int(row["node"][1:])
        assert value.shape == (SIZES[number],)
        assert (value == row["step"] * 10 + number).all()


def last_line(log: Path) -> int:
    lines = log.read_text().split("\n")[:-1]  # the last one may be cut
    return int(lines[-1]) if lines else -1


@pytest.mark.parametrize("seed", range(6))
def test_kill_9_loses_nothing_acknowledged(tmp_path: Path, seed: int) -> None:
    log = tmp_path / "acknowledged"
    way = "direct" if seed % 2 and sys.platform == "linux" else "cached"
    with log.open("wb") as out:
        process = subprocess.Popen([sys.executable, "-c", WRITE, str(tmp_path / "dump"), way], stdout=out)
        try:
            until(lambda: last_line(log) >= 0 or process.poll() is not None, "the first commit", 60)
            moment = time.monotonic() + random.Random(seed).uniform(0.0, 0.8)
            until(lambda: time.monotonic() > moment, "the moment to kill")
        finally:
            process.kill()
        assert process.wait(timeout=30) == -signal.SIGKILL
    found = read_all(tmp_path / "dump")
    check(found, last_line(log))
    assert found.damage == []
    assert not found.tails[0].closed


def test_copies_made_while_it_is_written_are_whole(tmp_path: Path) -> None:
    log = tmp_path / "acknowledged"
    with log.open("wb") as out:
        process = subprocess.Popen([sys.executable, "-c", WRITE, str(tmp_path / "dump")], stdout=out)
        try:
            for number in range(3):
                before = last_line(log)
                until(lambda before=before: last_line(log) > before + 2, "more commits", 60)
                acknowledged = last_line(log)
                shutil.copytree(tmp_path / "dump", tmp_path / f"copy{number}")
                # A copy takes files one after the other, so rows may name values that were not copied yet.
                found = read_all(tmp_path / f"copy{number}")
                assert found.damage == []
                complete = {(row["node"], row["step"]) for row in found.rows}
                wanted = {(f"x{i}", s) for s in range(acknowledged + 1) for i in range(len(SIZES))}
                assert wanted <= complete
        finally:
            process.kill()
            process.wait(timeout=30)


@pytest.mark.parametrize("way", ["cached", pytest.param("direct", marks=LINUX)])
def test_a_live_reader_sees_every_row_once_and_in_order(tmp_path: Path, way: str) -> None:
    code = WRITE.replace("1_000_000", "120")
    process = subprocess.Popen([sys.executable, "-c", code, str(tmp_path), way], stdout=subprocess.DEVNULL)
    try:
        until(lambda: list(tmp_path.rglob("stats-000000.arrows")), "the dump", 60)
        check_live(tmp_path, process)
    finally:
        process.kill()
        process.wait(timeout=30)


def check_live(logdir: Path, process: subprocess.Popen[bytes]) -> None:
    run = RunReader(logdir / "run")
    tail = run.tail(run.workers()[0].worker)
    seen: list[int] = []
    polls = 0

    def poll() -> bool:
        nonlocal polls
        # Between two files the stream is closed, too: the next one may not be there yet.
        over = process.poll() is not None
        for commit in tail.poll():
            polls += 1
            for row in range(commit.batch.num_rows):
                seen.append(commit.batch.column("seq")[row].as_py())
                reference = value_ref(run.path, tail.worker, commit.batch, row)
                assert reference is not None
                step = commit.batch.column("step")[row].as_py()
                assert int(np.asarray(read_value(reference)).flat[0]) // 10 == step
        return over and tail.closed

    until(poll, "the end of the stream", 120)
    assert process.wait(timeout=30) == 0
    assert seen == list(range(120 * len(SIZES)))
    assert tail.damage == []
    assert polls >= 120  # a commit a flush
    assert (logdir / "run" / tail.worker / "stats-000001.arrows").exists()
