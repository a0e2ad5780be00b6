"""Analyses of runs that an engine reads: the same answers, also where a process is killed midway."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest
from compacted import compact, copied
from synthetic_runs import TRAINING

from tensortap.__main__ import main
from tensortap.compact import compactor
from tensortap.core.records import Function, Graph
from tensortap.dump.write.writer import DumpWriter
from tensortap.index import compacted_run, engine_reading
from tensortap.index.cache import saved_run
from tensortap.index.engine_reading import EngineReading
from tensortap.index.logdir_index import LogIndex
from tensortap.index.run_index import RunIndex
from tensortap.index.series.histograms import histograms
from tensortap.scale.registry import open_engine

COMMANDS = (
    ("rules", "{run}"),
    ("nan", "{run}"),
    ("ledger", "{run}"),
    ("diff", "{run}", "--step", "2", "--step-b", "30"),
)


@pytest.fixture
def logdir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run of five workers, a task each. One leaves the others at step 7; there are NaN and zeros."""
    rng = np.random.default_rng(0)
    kernels = rng.standard_normal((40, 64)).astype(np.float32)
    for rank in range(5):
        with DumpWriter(tmp_path / "logs", run="r", rank=rank) as writer:
            graph = writer.graph(Graph("step", list(TRAINING), functions={"": Function(outputs=["loss:0"])}))
            for step, kernel in enumerate(kernels):
                mine = kernel + np.float32(1e-3) * (rank == 3 and step >= 7)
                own = np.random.default_rng([rank, step]).standard_normal(32).astype(np.float32)
                own[: (rank == 2 and step > 20)] = np.nan
                values = {"x": own, "w": mine, "product": own * own, "loss": own.mean()}
                values["gradient_tape/g"] = np.zeros(64, np.float32) if step > 12 else own
                for name, value in values.items():
                    writer.log(name, value, step=step, graph=graph, time=1.7e9 + step)
    monkeypatch.setattr(engine_reading, "TASK_BYTES", 1000)
    monkeypatch.setattr(compactor, "PART_BYTES", 20_000)
    monkeypatch.setattr(compacted_run, "_STREAM_BYTES", 40_000)
    return tmp_path / "logs"


def answers(run: Path, capsys: pytest.CaptureFixture[str], *options: str) -> list[str]:
    """What the commands print as JSON."""
    printed = []
    for command in COMMANDS:
        main([part.format(run=run) for part in command] + ["--json", *options])
        printed.append(capsys.readouterr().out)
    assert "worker 3" in printed[0]
    return printed


def test_processes_of_this_machine(logdir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert answers(logdir, capsys, "--processes", "2") == answers(logdir, capsys)


def test_a_run_of_which_only_compact_is_here(
    logdir: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    compact(logdir / "r")
    copy = copied(logdir, tmp_path / "copy")
    assert answers(copy, capsys, "--engine", "local", "--processes", "2") == answers(copy, capsys)


def read_by(folder: Path, name: str, kill: Callable[[], object] | None = None) -> RunIndex:
    """The run of a log directory, read by an engine; `kill` is called once, when the first task is done."""
    reported: list[tuple[int, int]] = []

    def advance(done: int, total: int) -> None:
        reported.append((done, total))
        if done == 1 and kill is not None:
            kill()

    log = LogIndex(folder)
    with open_engine(name, processes=None if "://" in name else 2) as engine:
        log.refresh(reading=EngineReading(engine, advance))
    assert log.runs[0].error is None
    assert reported[0][0] == 0
    assert reported[-1][0] == reported[-1][1] > 1
    return log.runs[0]


def same_rows(one: RunIndex, other: RunIndex) -> None:
    """Compares all that the index of a run holds, and histograms."""
    names = ("tensor", "step", "visit", "worker", "time", "shape", "dtype", "shard", "mean", "l2", "zero")
    for name in names:
        found, expected = (run.catalog.column(name, slice(0, run.catalog.rows)) for run in (one, other))
        np.testing.assert_array_equal(found, expected, name)
    assert one.catalog.tensors.names == other.catalog.tensors.names
    assert one.workers == other.workers
    assert one.overview() == other.overview()
    np.testing.assert_array_equal(one.steps.nan, other.steps.nan)
    for tensor in one.tensors:
        found, expected = histograms(one, tensor, limit=30), histograms(other, tensor, limit=30)
        np.testing.assert_array_equal(found.counts, expected.counts)
        np.testing.assert_array_equal(found.edges, expected.edges)
        assert found.worker == expected.worker


def kill_children() -> None:
    for child in psutil.Process().children():
        if "tensortap.scale.task" in child.cmdline():
            os.kill(child.pid, signal.SIGKILL)


def read_here(folder: Path) -> RunIndex:
    log = LogIndex(folder, use_cache=False)
    log.refresh()
    return log.runs[0]


def test_the_index_is_the_same(logdir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """GIVEN a run and its compacted copy WHEN processes read them, some killed THEN all rows are as they are
    read here, and those that were saved are, too."""
    monkeypatch.setattr(saved_run, "FEWEST", 10)
    monkeypatch.setattr(saved_run, "SEGMENT_ROWS", 300)
    compact(logdir / "r")
    for folder in (logdir, copied(logdir, tmp_path / "copy")):
        expected = read_here(folder)
        same_rows(read_by(folder, "local", kill_children), expected)
        log = LogIndex(folder)
        log.refresh()
        assert len(log.runs[0].catalog.parts.segments) > 1
        same_rows(log.runs[0], expected)


def test_what_is_written_later_is_read_too(logdir: Path) -> None:
    log = LogIndex(logdir)
    with open_engine(processes=2) as engine:
        log.refresh(reading=EngineReading(engine))
    with DumpWriter(logdir, run="r", rank=9) as writer:
        writer.log("x", np.ones(3), step=41)
    log.refresh()
    assert log.runs[0].catalog.rows == 5 * 40 * 5 + 1


def test_a_damaged_part_is_reported(logdir: Path, tmp_path: Path) -> None:
    compact(logdir / "r")
    copy = copied(logdir, tmp_path / "copy")
    path = min((copy / "r/compact").glob("rows-*"))
    path.write_bytes(path.read_bytes()[:-50] + bytes(50))
    found, expected = read_by(copy, "local"), read_here(copy)
    assert found.damage == expected.damage
    assert "cannot be read" in found.damage[0]
    assert found.catalog.rows == expected.catalog.rows


@pytest.mark.slow
def test_a_dask_cluster_of_which_a_worker_is_killed(
    logdir: Path, cluster: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = f"dask://{cluster.scheduler_address.removeprefix('tcp://')}"
    workers = [nanny.process.pid for nanny in cluster.workers.values()]
    expected = answers(logdir, capsys)
    same_rows(read_by(logdir, engine, lambda: os.kill(workers[0], signal.SIGKILL)), read_here(logdir))
    assert answers(logdir, capsys, "--engine", engine) == expected
