"""Analyses in worker processes: the same results as here, and what was added to a growing run."""

from __future__ import annotations

import pickle
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from queue import SimpleQueue
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tensortap.analysis.rules.runner import check_rules
from tensortap.core.errors import TensortapError
from tensortap.dump.write.writer import DumpWriter
from tensortap.index.logdir_index import LogIndex
from tensortap.index.run_index import RunIndex
from tensortap.server.app import create_app
from tensortap.server.jobs import analysis_jobs, analysis_worker
from tensortap.server.jobs.analysis_worker import place_of
from tensortap.server.serve import Server
from tensortap.system.subprocess_worker import Cancellation, ChildEndedError, ChildPool

FINDINGS = {"mute": [], "table": {}}


@pytest.fixture(scope="module")
def workers() -> Iterator[ChildPool]:
    made = ChildPool("server.jobs.analysis_worker")
    yield made
    made.close()


def log_of(folder: Path) -> RunIndex:
    log = LogIndex(folder)
    log.refresh()
    return log.runs[0]


def ask(
    workers: ChildPool, run: RunIndex, seen: list[Any], what: str = "findings", options: Any = FINDINGS
) -> Any:
    request = {"what": what, "places": [place_of(run)], "options": options}
    found, damage = pickle.loads(workers.ask(request, progress=seen.append)[1])
    assert damage == run.damage
    return found


def test_the_result_is_that_of_this_process_and_grows_with_the_run(
    workers: ChildPool, tmp_path: Path
) -> None:
    with DumpWriter(tmp_path / "run") as writer:
        writer.log("a", np.ones(3, np.float32), step=0)
        writer.flush()
        run, seen = log_of(tmp_path), list[Any]()
        before = ask(workers, run, seen)
        assert before == check_rules(run)
        assert seen[0] == [0, 0, "reading"]
        writer.log("a", np.array([np.nan, 1, 2], np.float32), step=1)
        writer.flush()
        after = ask(workers, run, seen)
    assert after == check_rules(log_of(tmp_path))
    assert after != before


def test_a_run_without_its_run_json_is_found_by_the_process(workers: ChildPool, tmp_path: Path) -> None:
    """Else its analyses would slow the server that asks for them."""
    with DumpWriter(tmp_path / "run") as writer:
        writer.log("a", np.array([np.nan, 1], np.float32), step=0)
    run_dir = next(tmp_path.rglob("run.json")).parent
    (run_dir / "run.json").unlink()
    run = log_of(tmp_path)
    assert not run.described
    assert ask(workers, run, []) == check_rules(run)
    shutil.rmtree(run_dir)
    assert place_of(run) is None


def test_an_analysis_that_cannot_be_done_says_why(workers: ChildPool, tmp_path: Path) -> None:
    with DumpWriter(tmp_path / "run") as writer:
        writer.log("a", np.ones(3, np.float32), step=0)
    run = log_of(tmp_path)
    with pytest.raises(TensortapError, match="no snapshot at step 7"):
        ask(workers, run, [], "nan", {"step": 7})
    assert ask(workers, run, []) == check_rules(run)


def test_a_process_above_its_share_of_memory_closes_its_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with DumpWriter(tmp_path / "run") as writer:
        writer.log("a", np.ones(3, np.float32), step=0)
    place, started = place_of(log_of(tmp_path)), list[int]()
    assert place is not None
    limited = lambda memory, drop: started.append(memory) or SimpleNamespace(start=int)  # noqa: E731
    monkeypatch.setattr(analysis_worker, "MemoryLimit", limited)
    runs = analysis_worker._Runs()
    first = runs.get(place)
    runs.rest()
    assert runs.get(place) is first
    for limit, is_held in ((1 << 60, True), (1, False)):
        runs = analysis_worker._Runs()
        runs.limit(limit)
        first = runs.get(place)
        runs.rest()
        assert (runs.get(place) is first) is is_held
    assert started == [1 << 60, 1]


def test_the_server_passes_each_process_its_share_of_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with DumpWriter(tmp_path / "run") as writer:
        writer.log("a", np.ones(3, np.float32), step=0)
    asked = SimpleQueue[int]()

    def answer(request: dict[str, Any], **_: Any) -> tuple[None, bytes]:
        asked.put(request["memory"])
        return None, pickle.dumps(("found", []))

    monkeypatch.setattr(analysis_jobs, "_WORKERS", SimpleNamespace(ask=answer))
    app = create_app(tmp_path)
    analysis_jobs.limit_memory(app, 1000)
    with app.app_context():
        analysis_jobs.ask((log_of(tmp_path),), "findings", "", 0, {})
    assert asked.get(timeout=60) == 500


def test_a_closed_server_ends_its_analyses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """GIVEN a server in a process that goes on WHEN it is closed THEN no worker computes on."""
    with DumpWriter(tmp_path / "run") as writer:
        writer.log("a", np.ones(3, np.float32), step=0)
    begun, ended, closed = threading.Event(), threading.Event(), threading.Event()

    def answer(request: dict[str, Any], *, cancellation: Cancellation, **_: Any) -> tuple[None, bytes]:
        with cancellation.calling(ended.set):
            begun.set()
            ended.wait(60)
        raise ChildEndedError(-9, False, "")

    monkeypatch.setattr(analysis_jobs, "_WORKERS", SimpleNamespace(ask=answer, close=closed.set))
    server = Server([tmp_path], port=0)
    with server.app.app_context():
        analysis_jobs.ask((log_of(tmp_path),), "findings", "", 0, {})
    assert begun.wait(60)
    server.close()
    assert ended.is_set()
    assert closed.is_set()
