"""What happens to a dump while somebody reads it: nothing wrong is shown, and nobody crashes."""

from __future__ import annotations

import os
import shutil

import numpy as np
import pytest

from tensortap.dump.write.writer import DumpWriter
from tensortap.index.logdir_index import LogIndex
from tensortap.index.query.search import snapshots
from tensortap.index.query.tensor_lookup import find_snapshot
from tensortap.index.series.histograms import histograms
from tensortap.index.series.history import history
from tensortap.index.values import read_slice
from tensortap.server.app import create_app


@pytest.fixture
def client(tmp_path):
    return create_app(tmp_path).test_client()


def log_steps(writer, steps, **options):
    for step in steps:
        writer.log("a", np.full(2000, step, np.float32), step=step, **options)
    writer.flush()


def ids(client):
    return [run["id"] for run in client.get("/api/runs").get_json()["runs"]]


def until_read(client):
    """Has the server look again now, not in half a second."""
    client.application.extensions["tensortap"].log.refresh()


def test_a_run_that_is_removed_under_the_server_is_gone_and_no_more(tmp_path, client):
    with DumpWriter(tmp_path, "r") as writer:
        log_steps(writer, range(3))
    (run,) = ids(client)
    assert client.get(f"/api/runs/{run}/value?tensor=a&step=1&format=json").status_code == 200
    shutil.rmtree(tmp_path / "r")
    for path in ("", "/histograms?tensor=a", "/value?tensor=a&step=1", "/snapshots", "/problems"):
        assert client.get(f"/api/runs/{run}{path}").status_code in (200, 404, 422)
    until_read(client)
    assert ids(client) == []
    assert client.get(f"/api/runs/{run}").status_code == 404


def test_a_run_that_is_replaced_under_the_server_is_read_anew(tmp_path, client):
    with DumpWriter(tmp_path, "r") as writer:
        log_steps(writer, range(3))
    (run,) = ids(client)
    shutil.rmtree(tmp_path / "r")
    with DumpWriter(tmp_path, "r") as writer:
        log_steps(writer, range(50, 52))
    until_read(client)
    assert ids(client) == [run]
    columns = client.get(f"/api/runs/{run}/history?tensor=a").get_json()["columns"]
    assert columns["step"] == [50, 51]
    assert columns["mean"] == [50.0, 51.0]


@pytest.mark.parametrize(
    ("size", "what"),
    [
        (100, "stats-*"),
        (9_000, "values-*"),
        *(
            pytest.param(size, what, marks=pytest.mark.nightly)
            for size, what in ((0, "stats-*"), (9_000, "stats-*"), (0, "values-*"), (100, "values-*"))
        ),
    ],
)
def test_a_file_that_is_cut_under_the_reader(tmp_path, client, what, size):
    with DumpWriter(tmp_path, "r", compression=None) as writer:
        log_steps(writer, range(8))
        (run,) = ids(client)
        (path,) = tmp_path.rglob(what)
        os.truncate(path, size)
        until_read(client)
        known = client.get(f"/api/runs/{run}/history?tensor=a").get_json()["columns"]
        assert known["mean"] == [float(step) for step in range(8)]  # what was read stays
        for step in range(8):
            answer = client.get(f"/api/runs/{run}/value?tensor=a&step={step}&format=json&selection=:3")
            assert answer.status_code in (200, 422)
            if answer.status_code == 200:
                assert answer.get_json()["data"] == [step] * 3
        assert client.get(f"/api/runs/{run}/histograms?tensor=a").status_code in (200, 422)
    fresh = LogIndex(tmp_path)
    fresh.refresh()
    means = history(fresh.runs[0], "a").columns["mean"].tolist() if fresh.runs[0].catalog.rows else []
    assert means == [float(step) for step in range(len(means))]


def test_a_clock_that_jumps_changes_no_order(tmp_path):
    with DumpWriter(tmp_path, "r") as writer:
        for step, time in enumerate([5e9, 100.0, 2e9, 0.0, 4e9]):
            log_steps(writer, [step], time=time)
    for path in tmp_path.rglob("stats-*"):
        os.utime(path, (4e9, 4e9))
    log = LogIndex(tmp_path)
    log.refresh()
    (run,) = log.runs
    assert history(run, "a").columns["step"].tolist() == list(range(5))
    assert [row.step for row in snapshots(run).rows] == list(range(5))
    assert [row.step for row in snapshots(run, sort="-time").rows] == [0, 4, 2, 1, 3]
    assert not log.refresh()


def test_repeated_steps_are_visits_of_one_step(tmp_path):
    with DumpWriter(tmp_path, "r") as writer:
        log_steps(writer, [0, 1, 2, 1, 0])
    with DumpWriter(tmp_path, "r") as writer:  # restarted from a checkpoint
        log_steps(writer, [2, 3])
    log = LogIndex(tmp_path)
    log.refresh()
    (run,) = log.runs
    columns = history(run, "a").columns
    assert list(zip(columns["step"].tolist(), columns["visit"].tolist(), strict=True)) == [
        (0, 0), (0, 1), (1, 0), (1, 1), (2, 0), (2, 0), (3, 0),
    ]  # fmt: skip
    assert len(set(columns["worker"])) == 2
    later = find_snapshot(run, "a", step=2)
    assert later.worker == columns["worker"][-1]
    assert read_slice(run, later, ":1").tolist() == [2]
    assert histograms(run, "a", merge_visits=True).counts.sum(axis=1).tolist() == [
        4000, 4000, 2000, 2000, 2000,
    ]  # fmt: skip
