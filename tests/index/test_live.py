"""A log that is read while it is written: things appear, vanish, are replaced, are damaged."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from polling import until

from tensortap.core.errors import NotFoundError
from tensortap.core.records import Graph, Node
from tensortap.dump.write.writer import DumpWriter
from tensortap.index.catalog.catalog import Catalog
from tensortap.index.logdir_index import LogIndex
from tensortap.index.query.search import snapshots
from tensortap.index.run_index import RunIndex
from tensortap.index.series.history import history
from tensortap.index.series.step_statistics import step_statistics
from tensortap.index.worker_follower import WorkerFollower


@pytest.fixture
def log(tmp_path):
    return LogIndex(tmp_path)


def test_an_empty_log_is_empty(tmp_path):
    for path in (tmp_path, tmp_path / "nothing"):
        log = LogIndex(path)
        assert not log.refresh()
        assert log.runs == []
        assert log.changes().runs == {}


def test_snapshots_appear_as_they_are_committed(tmp_path, log):
    with DumpWriter(tmp_path, "r") as writer:
        for step in range(5):
            writer.log("a", np.full(3, step), step=step)
            writer.flush()
            assert log.refresh()
            assert not log.refresh()
            assert history(log.runs[0], "a").columns["step"].tolist() == list(range(step + 1))
        assert log.runs[0].workers[0].live
        assert not log.runs[0].workers[0].closed
    assert log.refresh()
    assert log.runs[0].workers[0].closed
    assert not log.runs[0].live


KILLED = """
import os, sys, tensortap
writer = tensortap.DumpWriter(sys.argv[1], run="r")
writer.log("a", 1.0, step=0)
writer.flush()
os._exit(9)
"""


def test_a_killed_worker_of_this_host_is_soon_not_live(tmp_path, log):
    """GIVEN a worker that was killed WHEN it is silent for some seconds THEN it is not live any more."""
    subprocess.run([sys.executable, "-c", KILLED, str(tmp_path)], check=False)
    log.refresh()
    (worker,) = log.runs[0].workers
    assert not worker.closed
    silent = time.time() - 10
    for file in (tmp_path / "r" / worker.id).iterdir():
        os.utime(file, (silent, silent))
    log.refresh()
    assert not log.runs[0].live


def test_runs_workers_and_graphs_appear(tmp_path, log):
    with DumpWriter(tmp_path, "r", rank=0) as first:
        first.log("a", np.ones(2), step=0)
        log.refresh()
        with DumpWriter(tmp_path, "r", rank=1) as second, DumpWriter(tmp_path, "deep/er/run") as other:
            second.log("a", np.ones(2), step=1)
            other.log("b", np.ones(2), step=1)
            graph = second.graph(Graph("g", [Node("a", "Const")]))
    log.refresh()
    runs = {run.name: run for run in log.runs}
    assert runs.keys() == {"r", "deep/er/run"}
    assert [worker.rank for worker in runs["r"].workers] == [0, 1]
    assert [g.id for g in runs["r"].graphs] == ["-", graph]


def test_cursors_tell_what_changed(tmp_path, log):
    with DumpWriter(tmp_path, "a") as a, DumpWriter(tmp_path, "b") as b:
        a.log("x", np.ones(2), step=0)
        a.flush()
        log.refresh()
        start = log.changes()
        assert {overview.name for overview in start.runs.values()} == {"a", "b"}
        assert log.changes(start.cursor).runs == {}
        b.log("x", np.full(2, np.nan), step=3)
        b.flush()
        log.refresh()
        changed = log.changes(start.cursor)
        (overview,) = changed.runs.values()
        assert (overview.name, overview.snapshots, overview.last_step, overview.nonfinite) == ("b", 1, 3, 1)
        assert changed.cursor == log.cursor != start.cursor
        assert len(log.changes("of another session.7").runs) == 2
        assert len(log.changes("nonsense").runs) == 2
    removed = next(run for run in log.runs if run.name == "a")
    shutil.rmtree(tmp_path / "a")
    log.refresh()
    assert log.changes(changed.cursor).runs[removed.id] is None
    with pytest.raises(NotFoundError):
        log.run(removed.id)


def test_a_replaced_directory_is_read_anew(tmp_path, log):
    for value in (1.0, 2.0):
        with DumpWriter(tmp_path, "r") as writer:
            writer.log("a", np.array(value), step=0)
        log.refresh()
        (run,) = log.runs
        assert history(run, "a").columns["max"].tolist() == [value]
        generation, run_id = run.generation, run.id
        shutil.rmtree(tmp_path / "r")
    with DumpWriter(tmp_path, "r"):
        pass
    log.refresh()
    assert log.run(run_id).generation > generation
    assert log.run(run_id).catalog.rows == 0


def test_a_removed_worker_is_forgotten(tmp_path, log):
    for _ in range(2):
        with DumpWriter(tmp_path, "r") as writer:
            writer.log("a", np.ones(2), step=0)
            folder = writer.run_dir / writer.worker
    log.refresh()
    assert log.runs[0].catalog.rows == 2
    shutil.rmtree(folder)
    log.refresh()
    assert log.runs[0].catalog.rows == 1


def test_a_bad_run_does_not_hide_the_others(tmp_path, log):
    with DumpWriter(tmp_path, "good") as writer:
        writer.log("a", np.ones(2), step=0)
    for name, content in {
        "future": json.dumps({"format": "tensortap", "version": 99}),
        "broken": "{",
    }.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "run.json").write_text(content)
    log.refresh()
    errors = {run.name: run.overview().error for run in log.runs}
    assert errors["good"] is None
    assert "version 99" in errors["future"]
    assert "not JSON" in errors["broken"]
    broken = next(run for run in log.runs if run.name == "broken")
    assert (broken.steps.step.tolist(), broken.graphs, broken.workers, broken.tensors) == ([], [], [], [])
    with pytest.raises(NotFoundError, match="cannot be read"):
        broken.graph("-")


def test_a_bad_run_that_heals_is_read(tmp_path, log):
    with DumpWriter(tmp_path, "r") as writer:
        writer.log("a", np.ones(2), step=0)
    text = (tmp_path / "r" / "run.json").read_text()
    (tmp_path / "r" / "run.json").write_text(text[:10])
    log.refresh()
    assert "run.json is not JSON" in log.runs[0].damage[0]
    (tmp_path / "r" / "run.json").write_text(text)
    log.refresh()
    assert not log.runs[0].damage
    assert log.runs[0].catalog.rows == 1


def test_damage_and_torn_tails_are_reported(tmp_path, log):
    with DumpWriter(tmp_path, "r") as writer:
        for step in range(4):
            writer.log("a", np.ones(2), step=step)
            writer.flush()
    log.refresh()
    places = [log.runs[0].catalog.place(i) for i in range(4)]
    (stats,) = tmp_path.rglob("stats-*")
    data = bytearray(stats.read_bytes())
    data[places[1].offset + 200] ^= 1
    stats.write_bytes(data[: places[3].offset + 100])
    again = LogIndex(tmp_path)
    again.refresh()
    run = again.runs[0]
    assert history(run, "a").columns["step"].tolist() == [0, 2]
    assert "skipped" in run.damage[0]
    assert "2 snapshots of 4 can be read" in run.damage[1]
    assert "not committed yet" in run.workers[0].pending
    stats.write_bytes(data)
    again.refresh()
    assert history(run, "a").columns["step"].tolist() == [0, 2, 3]
    assert run.workers[0].pending is None
    assert len(run.damage) == 1


def test_a_graph_may_come_late_or_never(tmp_path, log):
    with DumpWriter(tmp_path, "r") as writer:
        graph = writer.graph(Graph("g", [Node("a", "Relu", output_dtypes=["float32"], output_shapes=[[2]])]))
        table = writer.run_dir / "graphs" / f"{graph}.arrows"
        hidden = table.rename(table.with_suffix(".hidden"))
        writer.log("a:0", np.ones(2), step=0, graph=graph)
        writer.log("b:3", np.ones(2), step=0, graph=graph)
    log.refresh()
    (run,) = log.runs
    early = run.graph(graph)
    assert (early.names, early.op_type.to_list(), early.slots.tolist()) == (["a", "b"], ["", ""], [1, 4])
    assert early.shape.to_list() == ["2", ""]
    assert step_statistics(run, graph, 0).columns["node"].tolist() == [0, 1]
    hidden.rename(table)
    log.refresh()
    late = run.graph(graph)
    assert (late.names, late.op_type.to_list()) == (["a", "b"], ["Relu", ""])
    assert late.shape.to_list() == ["2", ""]
    assert run.graphs[0].nodes == 2


def test_a_damaged_graph_is_reported_and_made_of_its_snapshots(tmp_path, log):
    with DumpWriter(tmp_path, "r") as writer:
        graph = writer.graph(Graph("g", [Node("a", "Relu")]))
        writer.log("a:0", np.ones(2), step=0, graph=graph)
    table = writer.run_dir / "graphs" / f"{graph}.arrows"
    table.write_bytes(table.read_bytes()[:-100])
    log.refresh()
    (run,) = log.runs
    assert run.graph(graph).names == ["a"]
    assert graph in run.damage[0]


def test_many_rows_are_read_in_pieces(tmp_path, log, monkeypatch):
    monkeypatch.setattr("tensortap.index.worker_follower.POLL_BYTES", 4000)
    with DumpWriter(tmp_path, "r") as writer:
        for step in range(400):
            writer.log("a", np.full(2, step), step=step)
            if step % 10 == 0:
                writer.flush()
    log.refresh()
    assert log.runs[0].catalog.rows == 400


def test_a_closed_run_is_left_alone_until_something_is_added(tmp_path, log, monkeypatch):
    with DumpWriter(tmp_path, "r") as writer:
        writer.log("a", np.ones(2), step=0)
    for folder in (writer.run_dir, *writer.run_dir.iterdir()):
        os.utime(folder, (1e9, 1e9))
    log.refresh()
    polls = []
    monkeypatch.setattr(
        WorkerFollower, "poll", lambda self, poll=WorkerFollower.poll: polls.append(1) or poll(self)
    )
    log.refresh()
    assert polls == []
    with DumpWriter(tmp_path, "r") as writer:
        writer.log("a", np.ones(2), step=1)
        log.refresh()
        writer.log("a", np.ones(2), step=2)
    log.refresh()
    assert history(log.runs[0], "a").columns["step"].tolist() == [0, 1, 2]
    assert polls != []


def check_rows(log):
    """What a reader asks for; every row must be whole."""
    for run in log.runs:
        for snapshot in snapshots(run, sort="-step", limit=3).rows:
            assert snapshot.max == snapshot.step
        assert run.steps.snapshots.sum() <= run.catalog.rows
        run.overview()
        log.changes()


def test_readers_see_whole_rows_while_other_threads_refresh(tmp_path, log):
    stop = threading.Event()
    failures: list[Exception] = []

    def repeat(action):
        try:
            while not stop.is_set():
                action()
        except Exception as error:
            failures.append(error)

    actions = [log.refresh, log.refresh, lambda: check_rows(log), lambda: check_rows(log)]
    threads = [threading.Thread(target=repeat, args=[action]) for action in actions]
    for thread in threads:
        thread.start()
    try:
        with DumpWriter(tmp_path, "r") as writer:
            for step in range(3000):
                writer.log(f"t{step % 50}", np.array([step]), step=step, keep="summary")
        until(lambda: failures or (log.runs and log.runs[0].catalog.rows == 3000), "all snapshots to be read")
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert failures == []


def test_a_cursor_taken_while_a_run_is_added_does_not_miss_it(tmp_path, log, monkeypatch):
    cursors = []

    class Slow(RunIndex):
        def __init__(self, *arguments):
            cursors.append(log.cursor)
            super().__init__(*arguments)

    monkeypatch.setattr("tensortap.index.logdir_index.RunIndex", Slow)
    with DumpWriter(tmp_path, "r"):
        log.refresh()
    assert log.changes(cursors[0]).runs.keys() == {log.runs[0].id}


def test_an_unforeseen_failure_ends_one_run_only(tmp_path, log, monkeypatch, caplog):
    for name in ("bad", "good"):
        with DumpWriter(tmp_path, name) as writer:
            writer.log("a", np.ones(2), step=0)
    add = Catalog.add

    def failing(catalog, worker, commits):
        if catalog.run_dir.name == "bad":
            raise ZeroDivisionError
        return add(catalog, worker, commits)

    monkeypatch.setattr(Catalog, "add", failing)
    log.refresh()
    runs = {run.name: run for run in log.runs}
    assert runs["good"].overview().snapshots == 1
    assert runs["bad"].error == "The run cannot be read: ZeroDivisionError."
    assert "the run 'bad' cannot be read" in caplog.text
    assert not log.refresh()


def test_errors_do_not_tell_where_the_run_is_on_this_machine(tmp_path, log):
    (tmp_path / "r").mkdir()
    (tmp_path / "r" / "run.json").write_text("[]")
    log.refresh()
    error = log.runs[0].error
    assert error.startswith("r is not a run")
    assert str(tmp_path) not in error


def test_the_overview_is_counted_once_per_change(tmp_path, log):
    with DumpWriter(tmp_path, "r") as writer:
        writer.log("a", np.ones(2), step=0)
        writer.flush()
        log.refresh()
        (run,) = log.runs
        before = run.overview()
        assert run.overview() is before
        writer.log("a", np.ones(2), step=1)
        writer.flush()
        log.refresh()
        assert (before.snapshots, run.overview().snapshots) == (1, 2)


def test_the_newest_run_is_read_first(tmp_path, log, monkeypatch):
    for name, began in (("a", 20), ("b", 40), ("c", 30)):
        DumpWriter(tmp_path, name).close()
        os.utime(tmp_path / name / "run.json", (began, began))
    read = []
    poll = RunIndex.poll
    monkeypatch.setattr(RunIndex, "poll", lambda run: (read.append(run.name), poll(run))[1])
    log.refresh()
    assert read == ["b", "c", "a"]
