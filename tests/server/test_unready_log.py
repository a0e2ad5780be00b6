"""A log directory on a disk that hangs: who asks is told so, not that there are no runs."""

from __future__ import annotations

import errno
import os
import re
import shutil
import threading
import zipfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hanging_disk import hanging_disk
from polling import until
from small_dump import small_graph

from tensortap.dump.read import runs as dump_runs
from tensortap.dump.write.writer import DumpWriter
from tensortap.index.logdir_index import LogIndex
from tensortap.server import log_reader
from tensortap.server.app import create_app
from tensortap.storage.files import FileReader


@pytest.fixture
def hanging() -> Iterator[threading.Event]:
    """Nobody gets to know what lies in a folder until it is set."""
    with hanging_disk(patience=0.0) as recovered:
        yield recovered


@pytest.fixture
def logdir(tmp_path: Path) -> Path:
    with DumpWriter(tmp_path / "my-logs", run="first") as writer:
        writer.log("x:0", np.ones(3), step=0)
    return tmp_path / "my-logs"


@pytest.mark.parametrize("address", ["runs", "changes", "runs/first-0/history?tensor=x:0"])
def test_a_disk_that_hangs_is_reported_and_waited_for(
    logdir: Path, hanging: threading.Event, address: str
) -> None:
    client = create_app(logdir).test_client()
    answer = client.get(f"/api/{address}")
    assert answer.status_code == 503
    assert re.search(r"The log directory has not responded for \d+ s: my-logs\.", answer.get_json()["error"])
    assert "retries" in answer.get_json()["hint"]
    hanging.set()
    until(lambda: client.get("/api/runs").status_code == 200, "the disk that answers")
    assert [run["name"] for run in client.get("/api/runs").get_json()["runs"]] == ["first"]


def test_runs_that_were_found_are_shown_while_a_disk_hangs(
    logdir: Path, hanging: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_reader, "REFRESH_INTERVAL", 0.0)
    hanging.set()
    client = create_app(logdir).test_client()
    until(lambda: client.get("/api/runs").status_code == 200, "the runs")
    hanging.clear()
    for _ in range(3):
        assert len(client.get("/api/runs").get_json()["runs"]) == 1


def test_a_look_that_failed_is_no_empty_list(logdir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*arguments: object) -> None:
        raise ValueError("a fault of ours")

    with monkeypatch.context() as patch:
        patch.setattr("tensortap.index.logdir_index.find_runs", fail)
        client = create_app(logdir).test_client()
        answer = client.get("/api/runs")
        assert answer.status_code == 503
        assert answer.get_json()["error"] == "Cannot search for runs in my-logs."
    until(lambda: client.get("/api/runs").status_code == 200, "the next look")


@pytest.mark.parametrize(
    ("code", "inside", "reported", "way_out"),
    [
        (errno.EIO, "", r"^Cannot read my-logs, .*: Input/output error\.$", "with 'ls'"),
        (errno.EACCES, "first", r"^Cannot read my-logs/first, .*: Permission denied\.$", "Make it readable"),
    ],
)
def test_a_folder_that_cannot_be_looked_into_is_no_empty_list(
    logdir: Path, monkeypatch: pytest.MonkeyPatch, code: int, inside: str, reported: str, way_out: str
) -> None:
    look = dump_runs.scan

    def refuse(folder: Path) -> object:
        if folder == logdir / inside:
            raise OSError(code, os.strerror(code), str(folder))
        return look(folder)

    client = create_app(logdir).test_client()
    with monkeypatch.context() as patch:
        patch.setattr(dump_runs, "scan", refuse)
        patch.setattr(dump_runs, "RUN_FILE", "no such file")
        for address in ("runs", "changes", "runs/first-0/history?tensor=x:0"):
            answer = client.get(f"/api/{address}")
            assert answer.status_code == 503
            assert re.search(reported, answer.get_json()["error"])
            assert way_out in answer.get_json()["hint"]
    until(lambda: client.get("/api/runs").status_code == 200, "the folder that can be looked into")
    assert [run["name"] for run in client.get("/api/runs").get_json()["runs"]] == ["first"]


def test_a_folder_that_cannot_be_looked_into_is_reported_beside_the_runs_of_others(
    logdir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    look, other = dump_runs.scan, tmp_path / "other-logs"
    other.mkdir()

    def refuse(folder: Path) -> object:
        if folder == other:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(folder))
        return look(folder)

    reported = {"folder": "other-logs", "reason": "Permission denied"}
    client = create_app([logdir, other]).test_client()
    with monkeypatch.context() as patch:
        patch.setattr(dump_runs, "scan", refuse)
        for address in ("runs", "changes"):
            answer = client.get(f"/api/{address}").get_json()
            assert len(answer["runs"]) == 1
            assert reported.items() <= answer["unread"][0].items()
    until(lambda: client.get("/api/runs").get_json()["unread"] == [], "the folder that can be looked into")


def test_a_folder_is_called_after_its_log_directory_as_runs_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    look, logs = dump_runs.scan, [tmp_path / month / "logs" for month in ("may", "june")]
    for folder in logs:
        with DumpWriter(folder, run="first") as writer:
            writer.log("x:0", np.ones(3), step=0)
    shut = logs[1] / "of-others" / "cnn"
    shut.mkdir(parents=True)

    def refuse(folder: Path) -> object:
        if folder in (logs[0], shut):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(folder))
        return look(folder)

    monkeypatch.setattr(dump_runs, "scan", refuse)
    unread = create_app(logs).test_client().get("/api/runs").get_json()["unread"]
    assert {folder["folder"] for folder in unread} == {"may/logs", "june/logs/of-others/cnn"}


def test_a_folder_that_can_be_read_again_just_then_is_no_failure(tmp_path: Path) -> None:
    """GIVEN no run, and a folder that was shut WHEN it is open between two looks THEN nothing fails."""

    class Healing(LogIndex):
        found = True
        looks = 0

        @property
        def unread(self) -> dict[Path, OSError]:
            self.looks += 1
            return {tmp_path: OSError(errno.EIO, "Input/output error")} if self.looks == 1 else {}

        @unread.setter
        def unread(self, found: dict[Path, OSError]) -> None: ...

    log = log_reader.LogReader(Healing(tmp_path))
    log.close()  # it is not read on: each look is that of the one who asks
    with pytest.raises(log_reader.UnreadableLogError, match=r"Cannot read .*: Input/output error"):
        log.refresh()
    log.refresh()


def test_a_graph_on_a_failing_disk_hides_no_run(logdir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """GIVEN a disk that fails in the file of a graph THEN the run is listed with the reason."""
    with DumpWriter(logdir, run="second") as writer:
        graph = writer.graph(small_graph())
        writer.log("y:0", np.ones(3), step=0, graph=graph)
    read = FileReader._read

    def fail(self: FileReader, offset: int, length: int) -> bytes:
        if self.path.parent.name == "graphs":
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return read(self, offset, length)

    client = create_app(logdir).test_client()
    with monkeypatch.context() as patch:
        patch.setattr(FileReader, "_read", fail)
        runs = {run["name"]: run for run in client.get("/api/runs").get_json()["runs"]}
        assert (set(runs), runs["second"]["damaged"]) == ({"first", "second"}, True)
        address = f"/api/runs/{runs['second']['id']}"
        (damage,) = client.get(address).get_json()["damage"]
        assert "cannot be read: Input/output error." in damage
        assert b"Input/output error" in client.get(f"{address}/graphs/{graph}").data


def test_a_value_on_a_failing_disk_is_no_bug_to_report(logdir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with DumpWriter(logdir, run="second") as writer:
        writer.log("y:0", np.ones(70_000), step=0, keep="value")
    client = create_app(logdir).test_client()
    run = next(run for run in client.get("/api/runs").get_json()["runs"] if run["name"] == "second")

    def fail(self: FileReader, offset: int, target: memoryview) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(FileReader, "read_into", fail)
    answer = client.get(f"/api/runs/{run['id']}/value?tensor=y:0&step=0&format=json")
    assert (answer.status_code, answer.get_json()["error"]) == (
        500,
        "A file cannot be read: Input/output error.",
    )


def test_of_many_folders_that_cannot_be_looked_into_the_first_are_reported(
    logdir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    look = dump_runs.scan
    for number in range(12):
        (logdir / f"shut-{number}").mkdir()

    def refuse(folder: Path) -> object:
        if folder.name.startswith("shut"):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(folder))
        return look(folder)

    monkeypatch.setattr(dump_runs, "scan", refuse)
    answer = create_app(logdir).test_client().get("/api/changes").get_json()
    assert (len(answer["unread"]), answer["unread_count"]) == (10, 12)


def test_a_damaged_archive_is_reported_not_shown_as_empty(logdir: Path, tmp_path: Path) -> None:
    """GIVEN a served archive WHEN it is truncated THEN the answers say so, before and after the restart."""
    archive = Path(shutil.make_archive(str(tmp_path / "x.tap"), "zip", logdir))
    stored = tmp_path / "stored.tap.zip"
    with zipfile.ZipFile(archive) as packed, zipfile.ZipFile(stored, "w", zipfile.ZIP_STORED) as plain:
        for name in packed.namelist():
            plain.writestr(name, packed.read(name))
    whole = stored.read_bytes()
    client = create_app(stored).test_client()
    assert len(client.get("/api/runs").get_json()["runs"]) == 1
    stored.write_bytes(whole[: len(whole) // 2])

    def reported() -> bool:
        found = client.get("/api/runs").get_json()
        return found.get("unread_count") == 1 and "not a readable zip" in found["unread"][0]["reason"]

    until(reported, "the damaged archive")
    answer = create_app(stored).test_client().get("/api/runs")
    assert answer.status_code == 503
    assert "stored.tap.zip is not a readable zip file" in answer.get_json()["error"]
    assert answer.get_json()["hint"].startswith("Create it with 'tensortap export")
