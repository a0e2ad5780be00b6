"""The writer: commits, visits, worker files, threads, closing."""

from __future__ import annotations

import json
import math
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from dump_tools import read_all, stats_files

from tensortap.core.errors import (
    DumpClosedError,
    FormatVersionError,
    InvalidNameError,
    InvalidValueError,
    NotARunError,
)
from tensortap.core.names import is_worker_name
from tensortap.dump.format.row_checks import Snapshot
from tensortap.dump.read.runs import RunReader
from tensortap.dump.write import writer
from tensortap.dump.write.writer import DumpWriter
from tensortap.stats.summarize import summarize


def rows(logdir: Path) -> list[dict[str, Any]]:
    return read_all(logdir).rows


def test_a_row_says_what_was_captured(tmp_path: Path) -> None:
    array = np.array([[1.0, -2.0, 0.0], [math.nan, math.inf, 5.0]], np.float32)
    with DumpWriter(tmp_path, "a/b") as w:
        summary = w.log("dense/Relu:1", array, step=7, visit=3, graph="g-1", device="/cpu:0", time=1.5)
    (row,) = rows(tmp_path)
    assert summary == summarize(array)
    assert (row["seq"], row["node"], row["slot"], row["step"], row["visit"]) == (0, "dense/Relu", 1, 7, 3)
    assert (row["graph"], row["device"], row["dtype"], row["shape"]) == ("g-1", "/cpu:0", "float32", [2, 3])
    assert row["time"].timestamp() == 1.5
    assert (row["size"], row["nan"], row["pos_inf"], row["zero"], row["negative"]) == (6, 1, 1, 1, 1)
    assert (row["min"], row["max"], row["mean"], row["abs_max"]) == (-2.0, 5.0, 1.0, 5.0)
    assert row["bucket_id"] == summary.histogram.bucket_id.tolist()
    assert row["bucket_count"] == summary.histogram.bucket_count.tolist()


def test_commits_after_five_hundred_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer, "COMMIT_SECONDS", 1e9)
    monkeypatch.setattr(writer, "SOON_SECONDS", 1e9)
    with DumpWriter(tmp_path) as w:
        for step in range(499):
            w.log("x", 1.0, step=step)
        assert rows(tmp_path) == []
        w.log("x", 1.0, step=499)
        assert len(rows(tmp_path)) == 500
        w.log("x", 1.0, step=500)
        assert len(rows(tmp_path)) == 500
        w.flush()
        assert len(rows(tmp_path)) == 501


def test_small_steps_share_a_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer, "COMMIT_SECONDS", 1e9)
    monkeypatch.setattr(writer, "SOON_SECONDS", 1e9)
    with DumpWriter(tmp_path) as w:
        for step in range(70):
            w.log_many([Snapshot(f"t{n}", np.full(n, step), keep="summary") for n in range(10)], step=step)
            w.log("loss", float(step), step=step)
    run = RunReader(w.run_dir)
    commits = run.tail(run.workers()[0].worker).poll()
    assert [commit.batch.num_rows for commit in commits] == [495, 10, 265]
    found = [row for commit in commits for row in commit.batch.to_pylist()]
    names = [*(f"t{n}" for n in range(10)), "loss"]
    assert [(row["step"], row["node"]) for row in found] == [
        (step, name) for step in range(70) for name in names
    ]
    assert [row["seq"] for row in found] == list(range(770))


def test_a_hundred_rows_are_committed_soon(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = time.monotonic()
    monkeypatch.setattr(writer.clock, "monotonic", lambda: now)
    with DumpWriter(tmp_path) as w:
        for step in range(120):
            w.log("x", 1.0, step=step)
        assert rows(tmp_path) == []
        now += 0.15
        w.log("x", 1.0, step=120)
        assert len(rows(tmp_path)) == 121


def test_commits_when_the_last_one_is_old(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = time.monotonic()
    monkeypatch.setattr(writer.clock, "monotonic", lambda: now)
    with DumpWriter(tmp_path) as w:
        w.log("x", 1.0, step=0)
        assert rows(tmp_path) == []
        now += 0.6
        w.log("x", 1.0, step=1)
        assert len(rows(tmp_path)) == 2


def test_visits_count_up_by_themselves(tmp_path: Path) -> None:
    with DumpWriter(tmp_path) as w:
        for name, step, graph in [("a", 0, ""), ("a", 0, ""), ("a:1", 0, ""), ("a", 1, ""), ("a:0", 0, "g")]:
            w.log(name, 1, step=step, graph=graph)
        w.log("a", 1, step=0)
        w.log("a", 1, step=0, visit=17)
    assert [row["visit"] for row in rows(tmp_path)] == [0, 1, 0, 0, 0, 2, 17]


def test_visits_of_many_steps_take_bounded_memory(tmp_path: Path) -> None:
    with DumpWriter(tmp_path) as w:
        for step in range(200):
            w.log("a", 1, step=step)
        w.log("a", 1, step=199)
        counted = w._current().visits._next["", "a:0"]
    assert len(counted) <= 64
    assert rows(tmp_path)[-1]["visit"] == 1


def test_keeping_summaries_only(tmp_path: Path) -> None:
    with DumpWriter(tmp_path) as w:
        w.log("x", np.ones(1000), step=0, keep="summary")
        w.log_summary("y:2", summarize(np.ones(3)), step=1)
    found = read_all(tmp_path)
    assert found.values == {}
    assert [(row["node"], row["slot"], row["value_codec"]) for row in found.rows] == [
        ("x", 0, ""),
        ("y", 2, ""),
    ]


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"name": ""}, InvalidNameError),
        ({"name": "a\0b"}, InvalidNameError),
        ({"name": 5}, InvalidNameError),
        ({"step": True}, InvalidValueError),
        ({"step": -1}, InvalidValueError),
        ({"step": 1.5}, InvalidValueError),
        ({"step": 2**63}, InvalidValueError),
        ({"visit": -1}, InvalidValueError),
        ({"keep": "everything"}, InvalidValueError),
        ({"device": "d" * 5000}, InvalidValueError),
        ({"time": math.nan}, InvalidValueError),
        ({"time": -5.0}, InvalidValueError),
    ],
)
def test_arguments_are_checked_before_anything_is_written(
    tmp_path: Path, arguments: dict[str, Any], error: type[Exception]
) -> None:
    with DumpWriter(tmp_path) as w, pytest.raises(error):
        w.log(**({"name": "x", "array": 1.0, "step": 0} | arguments))
    assert rows(tmp_path) == []


def test_numpy_integers_are_steps(tmp_path: Path) -> None:
    with DumpWriter(tmp_path) as w:
        w.log("x", 1, step=np.int64(5))
    assert rows(tmp_path)[0]["step"] == 5


def test_lost_snapshots_are_counted(tmp_path: Path) -> None:
    with DumpWriter(tmp_path) as w:
        w.log("x", 1, step=0)
        w.dropped(3)
        w.flush()
        w.dropped(4)
    found = read_all(tmp_path)
    assert found.tails[0].dropped == 7
    assert len(found.rows) == 1


def test_closing_ends_the_files_and_may_be_repeated(tmp_path: Path) -> None:
    w = DumpWriter(tmp_path)
    w.log("x", 1, step=0)
    w.close()
    w.close()
    found = read_all(tmp_path)
    assert found.tails[0].closed
    assert found.tails[0].pending is None
    for use in (w.flush, lambda: w.log("x", 1, step=0), lambda: w.dropped(1), lambda: w.worker):
        with pytest.raises(DumpClosedError):
            use()


def test_an_exception_in_the_block_still_closes(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), DumpWriter(tmp_path) as w:
        w.log("x", 1, step=0)
        raise ZeroDivisionError
    assert read_all(tmp_path).tails[0].closed


def test_the_end_of_the_program_closes(tmp_path: Path) -> None:
    code = "import sys; from tensortap.dump import *; w = DumpWriter(sys.argv[1]); w.log('x', 1, step=0)"
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=True)
    found = read_all(tmp_path)
    assert len(found.rows) == 1
    assert found.tails[0].closed


def test_run_and_worker_are_described(tmp_path: Path) -> None:
    with DumpWriter(tmp_path, "exp/one", info={"watch": "all"}, rank=3) as w:
        name = w.worker
    reader = RunReader(w.run_dir)
    (worker,) = reader.workers()
    assert (reader.info().run, reader.info().version, reader.info().info["watch"]) == ("exp/one", 1, "all")
    assert abs(reader.info().created.timestamp() - time.time()) < 100
    assert (worker.worker, worker.rank, worker.info) == (name, 3, {"watch": "all"})
    assert is_worker_name(name)
    assert not list(tmp_path.rglob("*.tmp"))


def test_a_second_writer_joins_the_run(tmp_path: Path) -> None:
    with DumpWriter(tmp_path, info={"first": 1}) as one, DumpWriter(tmp_path, info={"first": 2}) as two:
        one.log("x", 1, step=0)
        two.log("x", 2, step=0)
        assert one.worker != two.worker
    reader = RunReader(tmp_path / "run")
    assert reader.info().info["first"] == 1
    assert len(reader.workers()) == 2
    assert len(rows(tmp_path)) == 2


@pytest.mark.parametrize(
    ("record", "error"),
    [
        ({"format": "tensortap", "version": 2}, FormatVersionError),
        ({"format": "something"}, NotARunError),
        ([], NotARunError),
    ],
)
def test_a_foreign_run_is_left_alone(tmp_path: Path, record: Any, error: type[Exception]) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "run.json").write_text(json.dumps(record))
    with pytest.raises(error):
        DumpWriter(tmp_path)
    assert list((tmp_path / "run").iterdir()) == [tmp_path / "run" / "run.json"]


@pytest.mark.parametrize("name", ["", "../up", "/root", ".hidden", "a//b", "a\\b", "tab\t"])
def test_bad_run_names(tmp_path: Path, name: str) -> None:
    with pytest.raises(InvalidNameError):
        DumpWriter(tmp_path, name)


@pytest.mark.parametrize("compression", ["zstd", "lz4", None])
def test_compressions(tmp_path: Path, compression: str | None) -> None:
    zeros = np.zeros(100_000, np.float32)
    with DumpWriter(tmp_path, compression=compression, fsync=True) as w:
        w.log("x", zeros, step=0)
    found = read_all(tmp_path)
    assert found.values["x", 0, 0].tobytes() == zeros.tobytes()
    assert found.rows[0]["value_codec"] == ("raw" if compression is None else "zstd:1048576")


def test_an_unknown_compression(tmp_path: Path) -> None:
    with pytest.raises(InvalidValueError, match="zstd"):
        DumpWriter(tmp_path, compression="brotli")


def test_threads_share_a_writer(tmp_path: Path) -> None:
    start = threading.Barrier(4)

    def work(number: int) -> None:
        start.wait()
        for step in range(150):
            w.log(f"t{number}", np.full(400, step, np.float32), step=step)

    with DumpWriter(tmp_path) as w, ThreadPoolExecutor(4) as pool:
        for done in [pool.submit(work, number) for number in range(4)]:
            done.result()
    found = read_all(tmp_path)
    assert sorted(row["seq"] for row in found.rows) == list(range(600))
    assert found.damage == []
    for row in found.rows:
        assert (found.values[row["node"], 0, row["seq"]] == row["step"]).all()


def test_statistics_go_on_in_a_new_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tensortap.dump.write.stats_writer.ROTATE", 6_000)
    with DumpWriter(tmp_path) as w:
        for step in range(10):
            w.log("x", np.random.default_rng(step).standard_normal(100), step=step)
            w.flush()
    files = stats_files(tmp_path)
    assert len(files) > 2
    assert all(file.read_bytes().endswith(b"\xff\xff\xff\xff\0\0\0\0") for file in files)
    found = read_all(tmp_path)
    assert [row["step"] for row in found.rows] == list(range(10))
    assert (found.damage, found.tails[0].closed) == ([], True)


def test_long_and_odd_names(tmp_path: Path) -> None:
    names = ["x" * 4096, "日本語/π", 'quote"back\\slash', "lone\ud800surrogate", "new\nline", "__pad__0"]
    with DumpWriter(tmp_path) as w:
        for name in names:
            w.log(name, np.arange(2000), step=0)
    found = read_all(tmp_path)
    assert [row["node"] for row in found.rows] == [
        n.encode("utf-8", "backslashreplace").decode() for n in names
    ]
    assert len(found.values) == len(names)
