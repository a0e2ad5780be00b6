"""Finding runs, and what their JSON files say, or fail to say."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tensortap.dump import (
    DumpWriter,
    FormatVersionError,
    InvalidNameError,
    NotARunError,
    RunReader,
    find_runs,
    new_worker_name,
)


def make(logdir: Path, *names: str) -> None:
    for name in names:
        DumpWriter(logdir, name).close()


def test_runs_are_found_by_their_paths(tmp_path: Path) -> None:
    make(tmp_path, "b", "a/x/y/z", "a", "c d")
    make(tmp_path / "a/x/y/z", "too-deep")
    (tmp_path / "empty").mkdir()
    assert [name for name, _ in find_runs(tmp_path)] == ["a", "a/x/y/z", "b", "c d"]
    assert dict(find_runs(tmp_path))["a/x/y/z"] == tmp_path / "a" / "x" / "y" / "z"


def test_a_run_itself_is_the_only_one(tmp_path: Path) -> None:
    make(tmp_path, "a", "a/b")
    assert find_runs(tmp_path / "a") == [("a", tmp_path / "a")]
    assert find_runs(str(tmp_path / "a")) == [("a", tmp_path / "a")]


def test_nothing_and_nowhere(tmp_path: Path) -> None:
    assert find_runs(tmp_path) == []
    assert find_runs(tmp_path / "missing") == []


def test_links_and_hidden_folders_are_passed_over(tmp_path: Path) -> None:
    make(tmp_path / "outside", "r")
    logdir = tmp_path / "logs"
    make(logdir, "real")
    (logdir / "link").symlink_to(tmp_path / "outside" / "r")
    (tmp_path / "outside" / "r").rename(logdir / ".hidden")
    (logdir / "loop").symlink_to(logdir)
    (logdir / "linked").mkdir()
    (logdir / "linked" / "run.json").symlink_to(logdir / "real" / "run.json")
    assert [name for name, _ in find_runs(logdir)] == ["real"]
    with pytest.raises(NotARunError):
        RunReader(logdir / "linked")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "null",
        "[" * 100_000,
        "\x00\xff",
        '{"format": "tensortap"}',
        '{"format": "x", "version": 1}',
        '{"format": "tensortap", "version": "1"}',
        '{"format": "tensortap", "version": 0}',
    ],
)
def test_what_is_not_a_run_says_so(tmp_path: Path, text: str) -> None:
    (tmp_path / "run.json").write_text(text, encoding="utf-8")
    with pytest.raises(NotARunError):
        RunReader(tmp_path)


def test_a_missing_run(tmp_path: Path) -> None:
    with pytest.raises(NotARunError, match="holds no run"):
        RunReader(tmp_path)


def test_a_huge_run_file_is_not_read(tmp_path: Path) -> None:
    with (tmp_path / "run.json").open("wb") as out:
        out.truncate(1 << 40)
    with pytest.raises(NotARunError, match="more than"):
        RunReader(tmp_path)


def test_a_newer_version_names_both(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text('{"format": "tensortap", "version": 7}')
    with pytest.raises(FormatVersionError, match=r"version 7.*version 1") as error:
        RunReader(tmp_path)
    assert "pip install" in error.value.hint


def test_missing_facts_have_defaults(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text('{"format": "tensortap", "version": 1, "created": 5, "info": []}')
    info = RunReader(tmp_path).info()
    assert (info.run, info.created, info.info) == (tmp_path.name, datetime.fromtimestamp(0, UTC), {})


@pytest.mark.parametrize("text", ["{", "[]", '{"host": 5, "rank": "x", "started": "yesterday", "pid": []}'])
def test_damaged_worker_files_leave_what_the_name_says(tmp_path: Path, text: str) -> None:
    make(tmp_path, "r")
    run = RunReader(tmp_path / "r")
    (worker,) = run.workers()
    (run.path / worker.worker / "worker.json").write_text(text)
    (again,) = run.workers()
    assert (again.worker, again.pid, again.rank) == (worker.worker, worker.pid, None)


def test_workers_come_in_the_order_they_started(tmp_path: Path) -> None:
    for _ in range(3):
        make(tmp_path, "r")
    run = RunReader(tmp_path / "r")
    started = [worker.started for worker in run.workers()]
    assert len(started) == 3
    assert started == sorted(started)


def test_a_worker_folder_without_files(tmp_path: Path) -> None:
    make(tmp_path, "r")
    run = RunReader(tmp_path / "r")
    name = new_worker_name()
    (run.path / name).mkdir()
    assert name in [worker.worker for worker in run.workers()]
    tail = run.tail(name)
    assert (tail.poll(), tail.pending, tail.damage, tail.closed) == ([], None, [], False)


def test_the_description_is_plain_json(tmp_path: Path) -> None:
    DumpWriter(tmp_path, "r", info={"path": tmp_path, "odd": "\ud800"}).close()
    record = json.loads((tmp_path / "r" / "run.json").read_bytes())
    assert (record["format"], record["version"], record["run"]) == ("tensortap", 1, "r")
    assert record["info"]["path"] == str(tmp_path)


@pytest.mark.parametrize("created", ["0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59-23:59", "1969-12-31"])
def test_times_that_have_no_local_time_are_unknown(tmp_path: Path, created: str) -> None:
    record = {"format": "tensortap", "version": 1, "created": created}
    (tmp_path / "run.json").write_text(json.dumps(record))
    assert RunReader(tmp_path).info().created == datetime.fromtimestamp(0, UTC)


def test_a_folder_that_may_not_be_entered_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(tmp_path, "mine", "theirs")
    real = Path.lstat

    def refusing(path: Path) -> os.stat_result:
        if path.parent.name == "theirs":
            raise PermissionError
        return real(path)

    monkeypatch.setattr(Path, "lstat", refusing)
    assert [name for name, _ in find_runs(tmp_path)] == ["mine"]


@pytest.mark.parametrize("name", ["graphs", "a/graphs", "a/b/c/d/e", "h-1-00000000", "a/h-1-00000000"])
def test_a_run_that_would_not_be_found_is_not_begun(tmp_path: Path, name: str) -> None:
    with pytest.raises(InvalidNameError):
        DumpWriter(tmp_path, name)
    assert list(tmp_path.iterdir()) == []
