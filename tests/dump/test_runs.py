"""Finding runs, and what their JSON files say, or fail to say."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

from tensortap.__main__ import main
from tensortap.core.errors import FormatVersionError, InvalidNameError, NotARunError
from tensortap.core.names import new_worker_name
from tensortap.dump.read import runs
from tensortap.dump.read.runs import RunReader, find_runs
from tensortap.dump.write.writer import DumpWriter
from tensortap.index.logdir_index import LogIndex
from tensortap.storage import filesystem
from tensortap.storage.entry import Entry


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
    with pytest.raises(NotARunError, match="has no run"):
        RunReader(tmp_path)


def test_a_huge_run_file_is_not_read(tmp_path: Path) -> None:
    with (tmp_path / "run.json").open("wb") as out:
        out.truncate(1 << 40)
    with pytest.raises(NotARunError, match="the limit is"):
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


@pytest.mark.parametrize(("rank", "read"), [(1048575, 1048575), (1048576, None), (-1, None), (True, None)])
def test_a_rank_beyond_a_million_is_none(tmp_path: Path, rank: int, read: int | None) -> None:
    make(tmp_path, "r")
    run = RunReader(tmp_path / "r")
    (worker,) = run.workers()
    file = run.path / worker.worker / "worker.json"
    file.write_text(json.dumps({"worker": worker.worker, "rank": rank}))
    assert [each.rank for each in run.workers()] == [read]


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
    stat_plain, scan_plain = filesystem.stat_plain, filesystem.scan_plain

    def refused_stat(path: Path, *, follow: bool = False) -> Entry:
        if path.parent.name == "theirs":
            raise PermissionError
        return stat_plain(path, follow=follow)

    def refused_scan(folder: Path) -> list[Entry]:
        if folder.name == "theirs":
            raise PermissionError
        return scan_plain(folder)

    monkeypatch.setattr(filesystem, "stat_plain", refused_stat)
    monkeypatch.setattr(filesystem, "scan_plain", refused_scan)
    assert [name for name, _ in find_runs(tmp_path)] == ["mine"]


@pytest.mark.parametrize("name", ["graphs", "a/graphs", "a/b/c/d/e", "h-1-00000000", "a/h-1-00000000"])
def test_a_run_that_would_not_be_found_is_not_begun(tmp_path: Path, name: str) -> None:
    with pytest.raises(InvalidNameError):
        DumpWriter(tmp_path, name)
    assert list(tmp_path.iterdir()) == []


def written(logdir: Path) -> Path:
    """A run with two snapshots; returns its run.json."""
    with DumpWriter(logdir, "r", info={"note": "kept"}) as writer:
        for step in range(2):
            writer.log("a", np.arange(500.0) + step, step=step)
    return logdir / "r" / "run.json"


@pytest.mark.parametrize(
    ("damage", "reported"),
    [
        (lambda path: path.write_bytes(b""), "run.json is empty"),
        (lambda path: path.write_bytes(b"\x00" * 200), "run.json is not JSON"),
        (lambda path: path.write_bytes(path.read_bytes().replace(b"kept", b"left", 1)), "does not match"),
        (lambda path: path.write_text('{"format": "tensorflow", "version": 1}'), "describe"),
        (lambda path: path.unlink(), "run.json is missing"),
    ],
)
def test_a_run_whose_description_is_lost_is_read_flagged_and_rebuilt(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], damage: Callable[[Path], object], reported: str
) -> None:
    run_file = written(tmp_path)
    created = RunReader(tmp_path / "r").info().created
    damage(run_file)
    assert find_runs(tmp_path) == [("r", tmp_path / "r")]
    assert find_runs(tmp_path / "r") == [("r", tmp_path / "r")]
    info = RunReader(tmp_path / "r").info()
    assert reported in info.damage
    assert abs(info.created - created) < timedelta(seconds=5)
    assert info.info["note"] == "kept"
    log = LogIndex(tmp_path, use_cache=False)
    log.refresh()
    assert (log.runs[0].catalog.rows, log.runs[0].error) == (2, None)
    assert reported in log.runs[0].damage[0]
    assert main(["ls", str(tmp_path)]) == 0
    assert "damaged" in capsys.readouterr().out
    assert main(["info", str(tmp_path / "r")]) == 0
    assert reported in capsys.readouterr().out
    assert main(["check", str(tmp_path), "--repair"]) == 1
    out = " ".join(capsys.readouterr().out.split())
    assert reported in out
    assert "2 snapshots" in out
    rebuilt = tmp_path / "r.repaired"
    assert RunReader(rebuilt).info().damage == ""
    assert RunReader(rebuilt).info().created == info.created
    assert main(["check", str(rebuilt)]) == 0


def test_a_run_file_that_comes_later_is_read(tmp_path: Path) -> None:
    run_file = written(tmp_path)
    data = run_file.read_bytes()
    run_file.unlink()
    log = LogIndex(tmp_path, use_cache=False)
    log.refresh()
    assert log.runs[0].damage
    run_file.write_bytes(data)
    log.refresh()
    assert not log.runs[0].damage
    assert log.runs[0].catalog.rows == 2


def test_nobody_writes_into_a_run_whose_description_is_damaged(tmp_path: Path) -> None:
    written(tmp_path).write_bytes(b"")
    with pytest.raises(NotARunError, match="is empty"):
        DumpWriter(tmp_path, "r")


def test_a_worker_that_starts_while_its_run_is_listed_is_not_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with DumpWriter(tmp_path, "r") as writer:
        writer.log("a", 1.0, step=0)
        name = writer.worker
    reader, scan = RunReader(tmp_path / "r"), runs.scan
    monkeypatch.setattr(runs, "scan", lambda folder: [entry for entry in scan(folder) if entry.name != name])
    assert reader.missing_folders() == {}
    (tmp_path / "r" / name).rename(tmp_path / "moved")
    assert {name: text.partition(":")[0] for name, text in reader.missing_folders().items()} == {name: name}


def test_opening_a_run_at_an_address_requests_what_is_not_left_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """GIVEN two files with the tables of all parts, of which a compaction left the older one."""
    folder = tmp_path / "compact"
    folder.mkdir()
    for age, name in enumerate(("manifest.json", "tables-1.bin", "rows-0-9-1.parquet", "tables-0.bin")):
        (folder / name).touch()
        os.utime(folder / name, (1000 - age, 1000 - age))
    asked: list[Path] = []
    monkeypatch.setattr(runs, "is_remote", lambda path: True)
    monkeypatch.setattr(runs, "prefetch", lambda folders, files: asked.extend(files))
    runs.prefetch_run(tmp_path)
    assert asked == [tmp_path / "run.json", folder / "manifest.json", folder / "tables-1.bin"]
