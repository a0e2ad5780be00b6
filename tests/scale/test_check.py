"""`check` and `export` by engines: the same report and file, however the work is divided."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from dump_tools import stats_files, values_files

from tensortap.__main__ import main
from tensortap.dump.maintenance import run_check
from tensortap.dump.maintenance.run_check import check_run
from tensortap.dump.write import values_writer
from tensortap.dump.write.writer import DumpWriter
from tensortap.scale.engine import Engine
from tensortap.scale.registry import open_engine

SMALL = 40_000  # bytes of a task: some values files of the run below, or its small workers together


@pytest.fixture
def logdir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run of a worker with many values files, and of two that have only statistics."""
    with monkeypatch.context() as patched:
        patched.setattr(values_writer, "MAX_SHARD", 8000)
        for rank, keep in enumerate(("value", "summary", "summary")):
            with DumpWriter(tmp_path, run="r", rank=rank) as writer:
                for step in range(40):
                    writer.log("a", np.arange(step, step + 900.0), step=step, keep=keep)
                    writer.log("small", np.arange(3.0), step=step, keep=keep)
    assert len(values_files(tmp_path)) >= 20
    monkeypatch.setattr(run_check, "TASK_BYTES", SMALL)
    return tmp_path


def checked(logdir: Path, engine: Engine | None = None) -> tuple[dict[str, Any], int]:
    """The report, with its damage sorted, and in how many tasks the run was read."""
    lines: list[str] = []
    report = asdict(check_run("r", logdir / "r", lines.append, engine))
    return report | {"damage": sorted(report["damage"])}, int(lines[-1].split()[1])


def flip(path: Path, at: int) -> None:
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(data)


def test_tasks_report_what_one_alone_does(logdir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in (3, 4, 12):
        flip(values_files(logdir)[number], 4000)
    values_files(logdir)[7].unlink()
    flip(stats_files(logdir)[-1], 3000)
    with open_engine(processes=2) as engine:
        report, tasks = checked(logdir, engine)
    assert tasks > 5
    assert checked(logdir) == (report, tasks)
    monkeypatch.setattr(run_check, "TASK_BYTES", 1 << 30)
    assert checked(logdir) == (report, 1)
    assert len(report["damage"]) >= 5
    assert report["workers"] == 3
    assert report["values"] < 80


def test_a_sound_run(logdir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(logdir), "--json", "--processes", "2"]) == 0
    (found,) = json.loads(capsys.readouterr().out)["runs"]
    assert (found["snapshots"], found["values"], found["damage"]) == (240, 80, [])


def test_exports(logdir: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one, two, part = (str(tmp_path / name) for name in ("1.tap.zip", "2.tap.zip", "3.csv"))
    assert main(["export", str(logdir), "--out", one]) == 0
    assert main(["export", str(logdir), "--out", two, "--processes", "2"]) == 0
    assert Path(one).read_bytes() == Path(two).read_bytes()
    assert main(["export", str(logdir), "--out", part, "--engine", "local"]) == 1
    assert "--engine and --processes only apply to a .tap.zip" in capsys.readouterr().err
    flip(values_files(logdir)[5], 4000)
    Path(two).unlink()
    assert main(["export", str(logdir), "--out", two, "--processes", "2"]) == 1
    assert "is damaged in 1 place" in capsys.readouterr().err
