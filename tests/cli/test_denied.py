"""Runs of somebody else that one may not read: said so, with the way out, by each command and the page."""

from __future__ import annotations

import os
import pickle
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from polling import until
from small_dump import small_graph

from tensortap.core.errors import DeniedError
from tensortap.dump.maintenance.repair import repair_run
from tensortap.dump.recording.recording import Recording
from tensortap.dump.recording.recording_files import write_recording
from tensortap.dump.write import stats_writer
from tensortap.dump.write.writer import DumpWriter
from tensortap.importers.resolve import resolve_log_directories
from tensortap.index.logdir_index import LogIndex
from tensortap.server.app import create_app

pytestmark = pytest.mark.skipif(
    os.name != "posix" or os.geteuid() != 0, reason="only root can become another user"
)
_NOBODY = 65_534
_COMMANDS = ("ls", "nan", "rules", "check", "info")


@pytest.fixture
def logs(run) -> Iterator[Path]:
    """Runs `mine` and `theirs`, in a folder that every user can look into."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        for written in ("mine", "theirs"):
            with DumpWriter(folder, written) as writer:
                graph = writer.graph(small_graph())
                writer.log("x:0", np.ones(70_000, np.float32), step=0, keep="value", graph=graph)
        for command in _COMMANDS:  # another user may not read the modules that are imported then
            assert run(command, folder / "mine")[0] == 0
        run("show", folder / "mine", "none")
        assert create_app(resolve_log_directories([folder])).test_client().get("/api/runs").status_code == 200
        yield folder


@contextmanager
def _as_nobody() -> Iterator[None]:
    os.seteuid(_NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.fixture
def reported(run):
    """`told(*command)` -> all that a command says as another user, which must fail, name the way out, and
    speak of no links."""

    def as_nobody(*command: object) -> str:
        with _as_nobody():
            status, out, err = run(*command)
        text = " ".join(f"{out} {err}".split())
        assert (status, "ermission denied" in text, "chmod -R a+rX" in text) == (1, True, True), text
        assert "Links" not in text
        return text

    return as_nobody


def test_statistics_that_may_not_be_read(logs: Path, reported, run) -> None:
    (statistics,) = logs.glob("theirs/*/stats-000000.arrows")
    statistics.chmod(0o600)
    for command in _COMMANDS:
        reported(command, logs / "theirs")
    assert "theirs:" in reported("ls", logs)
    with _as_nobody():
        client = create_app(logs / "theirs").test_client()
        (found,) = client.get("/api/runs").get_json()["runs"]
        damage = client.get(f"/api/runs/{found['id']}/problems").get_json()["damage"]
    assert "permission denied" in damage[0]
    statistics.chmod(0o644)
    with _as_nobody():
        until(lambda: client.get("/api/runs").get_json()["runs"][0]["snapshots"] == 1, "the snapshot")
        assert client.get(f"/api/runs/{found['id']}/problems").get_json()["damage"] == []
        assert run("ls", logs)[0] == 0


@pytest.mark.parametrize("closed", ["folder", "file"])
def test_sql_says_which_statistics_may_not_be_read(logs: Path, run, closed: str) -> None:
    """An answer without them looks like one of a run with fewer snapshots."""
    query = "sql", logs / "theirs", "SELECT count(*) FROM snapshots", "--json"
    assert "1" in run(*query)[1]
    (statistics,) = logs.glob("theirs/*/stats-000000.arrows")
    (statistics.parent if closed == "folder" else statistics).chmod(0)
    with _as_nobody():
        _, _, err = run(*query)
    assert "permission denied" in " ".join(err.split())
    assert "truncated" not in err


def test_values_and_graphs_that_may_not_be_read(logs: Path, reported) -> None:
    (values,) = logs.glob("theirs/*/values-*")
    values.chmod(0o600)
    reported("show", logs / "theirs", "x:0", "--step", "0")
    values.chmod(0o644)
    (logs / "theirs" / "graphs").chmod(0o700)
    reported("ls", logs)
    assert "0 graphs" in reported("check", logs / "theirs")
    with _as_nobody():
        client = create_app(logs / "theirs").test_client()
        (found,) = client.get("/api/runs").get_json()["runs"]
        assert found["snapshots"] == 1
        damage = client.get(f"/api/runs/{found['id']}/problems").get_json()["damage"]
    assert damage == [str(DeniedError("graphs"))]


def test_a_worker_file_that_may_not_be_read_is_reported(logs: Path, run) -> None:
    """Its rank and start are unknown then, and with them the order of the workers."""
    next(logs.glob("theirs/*/worker.json")).chmod(0o600)
    with _as_nobody():
        _, out, err = run("info", logs / "theirs")
    assert "worker.json cannot be read: permission denied." in " ".join(f"{out} {err}".split())


@pytest.mark.parametrize("closed", ["compact", "compact/manifest.json"])
def test_compacted_statistics_that_may_not_be_read_are_not_an_empty_run(logs: Path, run, closed: str) -> None:
    """GIVEN a copy with `compact/` only WHEN it is denied THEN no command says that nothing was captured."""
    assert run("compact", logs / "theirs")[0] == 0
    for worker in logs.glob("theirs/*/worker.json"):
        shutil.rmtree(worker.parent)
    (logs / "theirs" / closed).chmod(0)
    with _as_nobody():
        _, _, err = run("show", logs / "theirs")
        damage = create_app(logs / "theirs").test_client().get("/api/runs").get_json()["runs"][0]["damaged"]
    assert "permission denied" in " ".join(err.split())
    assert "No tensors were captured" not in err
    assert damage


def test_a_graph_that_may_not_be_read_is_reported_after_the_answer(logs: Path, run) -> None:
    """GIVEN a graph that only the answer reads THEN the command does not say that there are no findings."""
    next(logs.glob("theirs/graphs/*.arrows")).chmod(0)
    with _as_nobody():
        _, _, err = run("rules", logs / "theirs")
    assert "permission denied" in " ".join(err.split())


def test_recordings_that_may_not_be_looked_into(logs: Path, reported) -> None:
    recording = write_recording(logs / "theirs", Recording("step", b"", (), step=3))
    for folder in (recording, recording.parent):
        folder.chmod(0o700)
        assert folder.name in reported("check", logs / "theirs")


def test_folders_that_may_not_be_looked_into(logs: Path, reported) -> None:
    (logs / "theirs").chmod(0o700)
    assert "mine" in reported("ls", logs)
    reported("check", logs)
    for command in _COMMANDS:
        assert "theirs" in reported(command, logs / "theirs")
    logs.chmod(0o700)
    for command in ("ls", "check"):
        reported(command, logs)
    with _as_nobody(), pytest.raises(DeniedError, match="permission denied"):
        resolve_log_directories([logs])


def test_what_is_lost_and_found_on_a_disk_holds_no_runs(logs: Path, run) -> None:
    """Nobody but root may look into it, where a disk of its own is the log directory."""
    (logs / "lost+found").mkdir(0o700)
    with _as_nobody():
        assert [run(command, logs)[0] for command in ("ls", "check")] == [0, 0]


def test_a_run_that_is_closed_to_others_stays(logs: Path) -> None:
    with _as_nobody():
        client = create_app(logs).test_client()
        until(lambda: len(client.get("/api/runs").get_json()["runs"]) == 2, "the runs")
    (logs / "theirs").chmod(0o700)

    def error() -> str:
        (theirs,) = [r for r in client.get("/api/runs").get_json()["runs"] if r["name"] == "theirs"]
        return str(theirs["error"])

    with _as_nobody():
        until(lambda: "permission denied" in error(), "the error")


def test_a_graph_that_is_allowed_later_is_read_then(logs: Path, reported) -> None:
    (table,) = logs.glob("mine/graphs/*.arrows")
    sentence = f"graph {DeniedError(table.name)}"
    table.chmod(0o600)
    for folder in (logs / "mine", *(logs / "mine").iterdir()):
        os.utime(folder, (0, 0))
    reported("check", logs / "mine")
    with _as_nobody():
        log = LogIndex(logs / "mine", use_cache=False)
        log.refresh()
        (found,) = log.runs
        assert [found.graphs[0].nodes, found.denied, found.damage] == [1, found.damage, [sentence]]
        log.refresh()
        assert found.denied == [sentence]
    table.chmod(0o644)
    with _as_nobody():
        log.refresh()
        assert (found.denied, found.damage, found.graphs[0].nodes > 1) == ([], [], True)


def test_what_is_allowed_later_is_read_then(logs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also of a closed run: nothing is left out, though nothing is added to its folders."""
    monkeypatch.setattr(stats_writer, "ROTATE", 1)
    with DumpWriter(logs, "many") as writer:
        graph = writer.graph(small_graph())
        for step in range(2):
            writer.log("x:0", np.ones(4, np.float32), step=step, graph=graph)
            writer.event("note", step=step, text="told")
            writer.flush()
    closed = [*sorted(logs.glob("many/*/stats-*")), logs / "many" / "graphs", logs / "many" / "run.json"]
    closed += logs.glob("many/*/events-*")
    for path in closed:
        path.chmod(0o700)
    for folder in (logs / "many", *(logs / "many").iterdir()):
        os.utime(folder, (0, 0))
    log = LogIndex(logs / "many", use_cache=False)

    def denied() -> list[int]:
        with _as_nobody():
            log.refresh()
        return [log.runs[0].catalog.rows, len(log.runs[0].denied)]

    assert denied() == [0, 4]
    for path, left in zip(closed, ([1, 4], [2, 4], [2, 3], [2, 2], [2, 1], [2, 0]), strict=True):
        path.chmod(0o755)
        assert denied() == left
    found = log.runs[0]
    assert (found.damage, found.described, len(found.info) > 0) == ([], True, True)
    assert (len(found.recorded_graphs), len(found.events.events("note"))) == (1, 2)


def test_nothing_is_pruned_where_not_all_may_be_read(logs: Path, reported) -> None:
    """Of values that no row is known to name nobody knows whether they are old."""
    for folder in (logs / "theirs").iterdir():
        folder.chmod(0o777)
    (statistics,) = logs.glob("theirs/*/stats-000000.arrows")
    statistics.chmod(0o600)
    assert statistics.name in reported("prune", logs / "theirs", "--max-bytes", "1")
    assert list(logs.glob("theirs/*/values-*.safetensors"))


def test_a_repaired_copy_says_what_it_leaves_out(logs: Path) -> None:
    (statistics,) = logs.glob("theirs/*/stats-000000.arrows")
    statistics.chmod(0o600)
    target = logs / "copies"
    target.mkdir(mode=0o777)
    target.chmod(0o777)
    with _as_nobody():
        done = repair_run(logs / "theirs", target / "copy")
    assert any("permission denied" in text for text in done.skipped)


def test_an_error_is_reported_alike_by_another_process() -> None:
    error = DeniedError("run.json")
    assert str(pickle.loads(pickle.dumps(error))) == str(error)
