"""What is gone without a trace in the files that are left: `check` misses it."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import numpy as np
import pytest
from dump_tools import stats_files, values_files
from small_dump import small_graph

from tensortap.__main__ import main
from tensortap.compact.queries import query_run
from tensortap.dump.maintenance.repair import repair_run
from tensortap.dump.read.runs import RunReader
from tensortap.dump.write.writer import DumpWriter
from tensortap.index.logdir_index import LogIndex


def write(logdir, steps=30, **options):
    with DumpWriter(logdir, "r", compression=None, **options) as writer:
        for step in range(steps):
            writer.log("a", np.arange(500.0) + step, step=step)
            writer.flush()


def check(logdir, capsys):
    """The exit status of `check`, and its report on the only run."""
    status = main(["check", str(logdir), "--json"])
    (report,) = json.loads(capsys.readouterr().out)["runs"]
    return status, report


def commits(logdir):
    (worker,) = RunReader(logdir / "r").workers()
    return RunReader(logdir / "r").tail(worker.worker).poll()


def cut_between_commits(logdir):
    found = commits(logdir)
    os.truncate(stats_files(logdir)[0], found[9].offset + found[9].length)


def cut_within_a_commit(logdir):
    os.truncate(stats_files(logdir)[0], commits(logdir)[10].offset + 40)


@pytest.mark.parametrize(
    ("damage", "there"),
    [
        (cut_between_commits, 10),
        (cut_within_a_commit, 10),
        (lambda logdir: stats_files(logdir)[0].unlink(), 0),
        (lambda logdir: os.truncate(stats_files(logdir)[0], 0), 0),
    ],
)
def test_statistics_that_are_gone_are_missed(tmp_path, capsys, damage, there):
    write(tmp_path)
    assert check(tmp_path, capsys)[0] == 0
    damage(tmp_path)
    status, report = check(tmp_path, capsys)
    assert (status, report["snapshots"], report["unnamed_bytes"]) == (1, there, (30 - there) * 4000)
    said = " ".join(report["damage"])
    assert f"{there} snapshots of 30" in said
    assert f"{30 - there} are lost, and {(30 - there) * 4000:,} bytes of values" in said
    repair_run(tmp_path / "r", tmp_path / "copy" / "r")
    status, report = check(tmp_path / "copy", capsys)
    assert (status, report["snapshots"], report["damage"], report["pending"]) == (0, there, [], [])


def test_a_closed_worker_without_its_end_mark_is_damaged(tmp_path, capsys):
    """GIVEN statistics cut exactly after their last commit THEN the counts fit, and only the mark is gone."""
    write(tmp_path)
    last = commits(tmp_path)[-1]
    os.truncate(stats_files(tmp_path)[0], last.offset + last.length)
    status, report = check(tmp_path, capsys)
    assert (status, report["snapshots"]) == (1, 30)
    assert "stats-000000.arrows lacks its end mark" in report["damage"][0]


def test_a_run_without_end_says_what_no_row_names(tmp_path, capsys):
    write(tmp_path)
    (closed,) = tmp_path.rglob("closed.json")
    closed.unlink()  # as of a process that was killed
    cut_between_commits(tmp_path)
    assert main(["check", str(tmp_path)]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "r incomplete" in out
    assert "80,000 bytes of values from values-000000.safetensors on are not referenced" in out
    stats_files(tmp_path)[0].unlink()
    status, report = check(tmp_path, capsys)
    assert status == 1
    assert "stats-000000.arrows is missing" in report["damage"][0]


@pytest.mark.parametrize("damage", [lambda path: os.truncate(path, 0), lambda path: path.unlink()])
@pytest.mark.parametrize("name", ["worker.json", "closed.json"])
def test_descriptions_that_are_gone_are_missed(tmp_path, capsys, name, damage):
    write(tmp_path, 2)
    (path,) = tmp_path.rglob(name)
    damage(path)
    status, report = check(tmp_path, capsys)
    may_be_missing = name == "closed.json" and not path.exists()  # then nobody can tell
    assert (status == 0) == may_be_missing
    assert may_be_missing or name in report["damage"][0]
    repair_run(tmp_path / "r", tmp_path / "copy" / "r")
    assert check(tmp_path / "copy", capsys)[0] == 0


def test_a_statistics_file_that_is_missing_between_others(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("tensortap.dump.write.stats_writer.ROTATE", 20_000)
    write(tmp_path)
    files = stats_files(tmp_path)
    assert len(files) > 3
    before = len(commits(tmp_path))
    files[1].unlink()
    files[2].unlink()
    status, report = check(tmp_path, capsys)
    assert status == 1
    assert "stats-000001.arrows is missing, so stats-000003.arrows and later files" in report["damage"][0]
    repaired = repair_run(tmp_path / "r", tmp_path / "copy" / "r")
    assert report["snapshots"] < repaired.snapshots < before
    assert check(tmp_path / "copy", capsys)[0] == 0


def test_lost_values_are_reported_in_a_line(tmp_path, capsys):
    write(tmp_path)
    (path,) = values_files(tmp_path)
    data = bytearray(path.read_bytes())
    data[262_144 + 4000 * 4 + 10] ^= 1
    path.write_bytes(data)
    (damage,) = check(tmp_path, capsys)[1]["damage"]
    assert "the value of a:0 at step 4 (values-000000.safetensors, byte 278,144) is lost" in damage
    path.write_bytes(data[: 262_144 + 4000 * 3])
    reported = check(tmp_path, capsys)[1]["damage"]
    assert len(reported) == 6
    assert "… and 22 values more in values-000000.safetensors" in reported[-1]
    path.unlink()
    (damage,) = check(tmp_path, capsys)[1]["damage"]
    assert "30 values lost. values-000000.safetensors is missing" in damage


def test_a_run_that_is_written_is_whole(tmp_path, capsys):
    with DumpWriter(tmp_path, "r") as writer:
        assert check(tmp_path, capsys)[1]["damage"] == []
        writer.log("a", np.arange(500.0), step=0)
        writer.flush()
        assert check(tmp_path, capsys)[1]["pending"] == []
        writer.log("a", np.arange(500.0), step=1)
        assert "are not committed yet" in check(tmp_path, capsys)[1]["pending"][0]


def write_three(logdir: Path) -> None:
    for run in ("r", "r", "other"):
        with DumpWriter(logdir, run, info={"of": run}) as writer:
            writer.log("a", 1.0, step=0)


def damage_of(logdir: Path, capsys: pytest.CaptureFixture[str]) -> tuple[list[str], int]:
    """Damage of the run `r` as it is shown, and the number of its sentences in `check`."""
    log = LogIndex(logdir, use_cache=False)
    log.refresh()
    (run,) = [run for run in log.runs if run.name == "r"]
    main(["ls", str(logdir / "r"), "--json"])
    (listed,) = json.loads(capsys.readouterr().out)
    assert listed["damaged"] == bool(run.damage)
    return run.damage, len(check(logdir / "r", capsys)[1]["damage"])


def test_a_run_file_of_another_run_is_damage(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_three(tmp_path)
    assert damage_of(tmp_path, capsys) == ([], 0)
    shutil.copy(tmp_path / "other/run.json", tmp_path / "r")
    assert damage_of(tmp_path, capsys) == (["run.json belongs to another run. Copy it again."], 1)
    assert RunReader(tmp_path / "r").info().info["of"] == "r"
    repair_run(tmp_path / "r", tmp_path / "s/r")
    assert damage_of(tmp_path / "s", capsys) == ([], 0)


def test_a_worker_of_another_run_is_damage(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_three(tmp_path)
    (worker,) = RunReader(tmp_path / "other").workers()
    shutil.copytree(tmp_path / "other" / worker.worker, tmp_path / "r" / worker.worker)
    damage, count = damage_of(tmp_path, capsys)
    assert damage == [f"{worker.worker}: worker.json belongs to another run. Copy the run again."]
    assert count == 1
    repair_run(tmp_path / "r", tmp_path / "s/r")
    assert damage_of(tmp_path / "s", capsys) == ([], 0)
    assert worker.worker not in [each.worker for each in RunReader(tmp_path / "s/r").workers()]


def test_a_worker_that_is_gone_is_damage(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_three(tmp_path)
    for worker in RunReader(tmp_path / "r").workers():
        before, _ = damage_of(tmp_path, capsys)
        shutil.rmtree(tmp_path / "r" / worker.worker)
        damage, count = damage_of(tmp_path, capsys)
        assert [each for each in damage if each not in before] == [
            f"{worker.worker}: its folder is missing. Copy it again, or remove {worker.worker}.started, too."
        ]
        assert count == len(damage)


def test_graphs_without_any_worker_are_damage(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with DumpWriter(tmp_path, "r") as writer:
        writer.graph(small_graph())
    assert damage_of(tmp_path, capsys) == ([], 0)
    (worker,) = RunReader(tmp_path / "r").workers()
    shutil.rmtree(tmp_path / "r" / worker.worker)
    (tmp_path / "r" / f"{worker.worker}.started").unlink()
    assert damage_of(tmp_path, capsys) == (["The folders of all workers are missing. Copy the run again."], 1)


def test_links_in_place_of_folders_are_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """GIVEN a run whose worker and recordings are links WHEN it is read THEN it does not look empty."""
    write_three(tmp_path)
    run_dir = tmp_path / "r"
    worker = next(path for path in run_dir.iterdir() if path.is_dir() and path.name != "graphs")
    worker.rename(tmp_path / "elsewhere")
    worker.symlink_to(tmp_path / "elsewhere")
    (run_dir / "recordings").symlink_to(tmp_path / "elsewhere")
    sentences = {
        f"{name} is not a folder. Links are not followed without --follow-links."
        for name in (worker.name, "recordings")
    }
    damage, count = damage_of(tmp_path, capsys)
    assert (sentences <= set(damage), count) == (True, 2)
    damage = []
    query_run(run_dir, "SELECT * FROM snapshots", damage.extend)
    assert sentences <= set(damage)


def test_a_recording_that_is_a_link_is_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_three(tmp_path)
    (tmp_path / "r/recordings").mkdir()
    (tmp_path / "r/recordings/1-0-00000000").symlink_to(tmp_path)
    damage, count = damage_of(tmp_path, capsys)
    assert "1-0-00000000" in damage[0]
    assert count == 1
