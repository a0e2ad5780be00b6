"""Values that retention removed are not kept any more, in every answer, and also while a run is live."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

from tensortap.api.logdir import open_logdir
from tensortap.core.errors import ValuePrunedError
from tensortap.dump.maintenance.pruning import prune_run
from tensortap.dump.write.retention import Retention
from tensortap.dump.write.writer import DumpWriter
from tensortap.index.cache import saved_run
from tensortap.index.logdir_index import LogIndex
from tensortap.index.query.search import Filters, find_rows, snapshots
from tensortap.index.query.tensor_lookup import find_snapshot
from tensortap.index.series.history import history
from tensortap.index.values import read_slice

VALUE = np.arange(250_000, dtype=np.float32)  # 1 MB


@pytest.fixture(autouse=True)
def small_shards(monkeypatch):
    monkeypatch.setattr("tensortap.dump.write.values_writer.MAX_SHARD", 1_500_000)


def log_steps(writer, steps):
    for step in steps:
        writer.log("a", VALUE, step=step)
        writer.log("small", np.arange(3), step=step)
        writer.log("none", VALUE, step=step, keep="summary")
        writer.flush()


def kept_steps(run):
    """The steps at which the value of `a` is kept, as every way to ask tells them."""
    reported = history(run, "a").columns
    steps = [int(step) for step, kept in zip(reported["step"], reported["kept"], strict=True) if kept]
    found = snapshots(run, tensor="a:0", kept=True, limit=1000)
    assert [row.step for row in found.rows] == steps
    assert len(find_rows(run, Filters(tensor="a:0", kept=True))) == len(steps)
    assert run.captured_slots("-", "a")[0] == (len(reported["step"]), len(steps))
    assert run.captured_slots("-", "small")[0][1] == len(reported["step"])
    assert run.captured_slots("-", "none")[0][1] == 0
    for row in snapshots(run, tensor="a:0", limit=1000).rows:
        assert (row.kept, row.pruned) == (row.step in steps, row.step not in steps)
        if row.pruned:
            with pytest.raises(ValuePrunedError):
                read_slice(run, row)
    return steps


def test_a_run_that_is_pruned_while_it_is_open(tmp_path):
    with DumpWriter(tmp_path, "r") as writer:
        log_steps(writer, range(6))
    log = LogIndex(tmp_path, use_cache=False)
    log.refresh()
    (run,) = log.runs
    assert kept_steps(run) == list(range(6))
    version = run.version
    prune_run(tmp_path / "r", Retention(keep_last=2))
    log.refresh()
    assert kept_steps(run) == [4, 5]
    assert run.version > version
    assert not find_snapshot(run, "none", step=0).pruned
    assert "value pruned" in repr(open_logdir(tmp_path).runs["r"].tensor("a", step=0))


def test_a_live_run_that_keeps_the_last_steps(tmp_path):
    with DumpWriter(tmp_path, "r", keep_last=2) as writer:
        log_steps(writer, range(12))
        log = LogIndex(tmp_path, use_cache=False)
        log.refresh()
        (run,) = log.runs
        first = kept_steps(run)
        assert 11 in first and 0 not in first
        log_steps(writer, range(12, 24))
        log.refresh()
        assert 23 in kept_steps(run) and not {0, 11} & set(kept_steps(run))


def test_two_workers_prune_their_own(tmp_path):
    for steps in (range(3), range(3, 6)):
        with DumpWriter(tmp_path, "r") as writer:
            log_steps(writer, steps)
    prune_run(tmp_path / "r", Retention(keep_last=3))
    log = LogIndex(tmp_path, use_cache=False)
    log.refresh()
    assert kept_steps(log.runs[0]) == [3, 4, 5]


def test_a_saved_index_knows_what_was_pruned_since(tmp_path, monkeypatch):
    monkeypatch.setenv("TENSORTAP_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(saved_run, "FEWEST", 1)
    monkeypatch.setattr(saved_run, "SEGMENT_ROWS", 4)
    with DumpWriter(tmp_path / "logs", "r") as writer:
        log_steps(writer, range(6))
    for keep in (6, 4, 2):  # a file holds two steps
        prune_run(tmp_path / "logs/r", Retention(keep_last=keep))
        log = LogIndex(tmp_path / "logs")
        log.refresh()
        assert kept_steps(log.runs[0]) == list(range(6 - keep, 6))


def test_values_that_come_back_are_kept_for_a_saved_index_too(tmp_path, monkeypatch):
    """The saved index was made while they were gone; they were put back while nobody had it open."""
    monkeypatch.setenv("TENSORTAP_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(saved_run, "FEWEST", 1)
    with DumpWriter(tmp_path / "logs", "r") as writer:
        log_steps(writer, range(6))
        folder = writer.run_dir / writer.worker
    shutil.copytree(folder, tmp_path / "copy")
    prune_run(tmp_path / "logs/r", Retention(keep_last=2))
    for back, kept in ((False, [4, 5]), (False, [4, 5]), (True, list(range(6)))):
        if back:
            shutil.copytree(tmp_path / "copy", folder, dirs_exist_ok=True)
            for mark in folder.glob("*.pruned"):
                mark.unlink()
        log = LogIndex(tmp_path / "logs")
        log.refresh()
        assert kept_steps(log.runs[0]) == kept
    assert list((tmp_path / "cache").rglob("state.index"))


def test_a_value_that_moved_is_read_where_it_is_now(tmp_path, monkeypatch):
    """By a reader that has read it where it was."""
    monkeypatch.setattr("tensortap.dump.write.values_writer.MAX_SHARD", 100_000_000)
    with DumpWriter(tmp_path, "r") as writer:
        log_steps(writer, range(4))
    log = LogIndex(tmp_path, use_cache=False)
    for keep in (4, 2):
        prune_run(tmp_path / "r", Retention(keep_last=keep))
        log.refresh()
        run = log.runs[0]
        assert kept_steps(run) == list(range(4 - keep, 4))
        (snapshot,) = snapshots(run, tensor="a:0", kept=True, limit=1000).rows[-1:]
        assert np.array_equal(read_slice(run, snapshot), VALUE)
