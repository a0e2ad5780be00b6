"""Engines: the same result wherever tasks run, also where a process is killed midway."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import psutil
import pytest
from compacted import files_of, manifest_of, write_worker

from tensortap.compact import compactor
from tensortap.compact.compactor import compact_run
from tensortap.compact.parts import scan_workers
from tensortap.core.errors import InvalidValueError, TensortapError
from tensortap.scale import dask_cluster, registry
from tensortap.scale.engine import Engine, reduce_tree
from tensortap.scale.registry import default_processes, open_engine
from tensortap.scale.task import run_task

TABLES = ("rows", "histograms", "by_step")


@pytest.fixture
def run_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run of three workers, which is compacted to many parts."""
    monkeypatch.setattr(compactor, "PART_BYTES", 2500)
    for rank in range(3):
        write_worker(tmp_path, range(20), rank=rank)
    return tmp_path / "r"


def content(run_dir: Path) -> list[Any]:
    """The bytes of all files that the manifest names."""
    last = run_dir / "compact" / manifest_of(run_dir)["by_tensor"]["file"]
    return [
        path.read_bytes() for path in (*(each for table in TABLES for each in files_of(run_dir, table)), last)
    ]


def compact_by(engine: Engine, run_dir: Path, kill: Any = None) -> list[Any]:
    """What an engine makes of a run; `kill` is called once, when the first part is written."""
    calls: list[tuple[str, int, int]] = []

    def advance(done: int, total: int, what: str) -> None:
        calls.append((what, done, total))
        if what == "writing" and done == 1 and kill is not None:
            kill()

    done = compact_run(run_dir, engine, advance, rebuild=True)
    assert done.written > 4
    assert [call for call in calls if call[0] == "writing"][-1] == ("writing", done.written, done.written)
    return content(run_dir)


def test_processes_of_this_machine(run_dir: Path) -> None:
    with open_engine(processes=1) as engine:
        expected = compact_by(engine, run_dir)
    with open_engine("local", processes=2) as engine:
        assert compact_by(engine, run_dir) == expected
        assert compact_by(engine, run_dir, kill_children) == expected


def kill_children() -> None:
    """Kills the processes that an engine started."""
    for child in psutil.Process().children():
        if "tensortap.scale.task" in child.cmdline():
            os.kill(child.pid, signal.SIGKILL)


@pytest.mark.slow
def test_two_clusters_of_this_machine_use_different_ports() -> None:
    """Dask warns of a taken port, and warnings are errors in tests."""
    pytest.importorskip("distributed")
    with open_engine("dask", processes=1), open_engine("dask", processes=1):
        pass


@pytest.mark.slow
def test_a_dask_cluster_of_which_a_worker_is_killed(run_dir: Path, cluster: Any) -> None:
    with open_engine(processes=1) as engine:
        expected = compact_by(engine, run_dir)
    address = cluster.scheduler_address.removeprefix("tcp://")
    workers = [nanny.process.pid for nanny in cluster.workers.values()]
    with open_engine(f"dask://{address}") as engine:
        assert compact_by(engine, run_dir, lambda: os.kill(workers[0], signal.SIGKILL)) == expected
        assert not psutil.pid_exists(workers[0]) or psutil.Process(workers[0]).status() == "zombie"
        with pytest.raises(TensortapError, match="cannot access") as caught:
            engine.map(scan_workers, [{"run": "/nowhere", "workers": {}}])
        assert "shared disk" in caught.value.hint


@pytest.mark.slow
def test_no_scheduler(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("distributed")
    monkeypatch.setattr(dask_cluster, "_CONNECT_SECONDS", 1)
    with pytest.raises(TensortapError, match=r"No Dask scheduler answers at 127\.0\.0\.1:1"):
        open_engine("dask://127.0.0.1:1")


def test_a_task_that_fails(tmp_path: Path) -> None:
    with open_engine(processes=2) as engine, pytest.raises(TensortapError, match="cannot access"):
        engine.map(scan_workers, [{"run": str(tmp_path / name), "workers": {}} for name in "ab"])


@pytest.mark.parametrize("name", ["os:system", "tensortap.scale.task:", "tensortap.scale.task:run_task.x"])
def test_only_functions_of_the_package_are_tasks(name: str) -> None:
    with pytest.raises(TensortapError, match="not a task"):
        run_task(name, {})


@pytest.mark.parametrize(("gigabytes", "processes"), [(1, 1), (7, 3), (1000, 8)])
def test_processes_have_enough_memory(
    monkeypatch: pytest.MonkeyPatch, gigabytes: int, processes: int
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(8)), raising=False)
    monkeypatch.setattr(registry, "available_bytes", lambda: gigabytes << 30)
    assert default_processes() == processes


def test_engines_that_do_not_exist() -> None:
    with pytest.raises(InvalidValueError, match="no engine 'ray'"):
        open_engine("ray")
    with pytest.raises(InvalidValueError, match="0 is not a valid number of processes"):
        open_engine(processes=0)


@pytest.mark.parametrize("count", [0, 1, 2, 16, 17, 300])
def test_a_tree_keeps_the_order(count: int) -> None:
    def merge(groups: Any) -> list[str]:
        assert all(len(group) <= 16 for group in groups)
        return ["".join(group) for group in groups]

    items = [chr(0x100 + number) for number in range(count)]
    assert reduce_tree(items, merge) == ("".join(items) if items else None)
