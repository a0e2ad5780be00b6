"""Reports about the ends of the files of killed workers: what a kill leaves, and what only damage does."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import tensortap
from tensortap.dump.read.stats_reader import StatsTail
from tensortap.dump.write.writer import DumpWriter
from tensortap.server.app import create_app

Run = Callable[..., tuple[int, str, str]]


def _age(worker_dir: Path) -> None:
    """Makes its last write so old that it is not live."""
    for path in (*worker_dir.iterdir(), worker_dir):
        os.utime(path, (1, 1))


@pytest.mark.parametrize("at", [0, 300, -20])
def test_a_damaged_last_commit_of_a_killed_worker_is_damage(run: Run, tmp_path: Path, at: int) -> None:
    with DumpWriter(tmp_path, "r") as writer:
        for step in range(3):
            writer.log("a", np.ones(2), step=step)
            writer.flush()
    (stats,) = tmp_path.rglob("stats-*")
    (stats.parent / "closed.json").unlink()
    last = StatsTail(tmp_path / "r", stats.parent.name).poll()[-1]
    data = bytearray(stats.read_bytes()[: last.offset + last.length])
    data[last.offset + at if at >= 0 else at] ^= 8
    stats.write_bytes(data)
    _age(stats.parent)
    (row,) = json.loads(run("ls", tmp_path, "--json")[1])
    status, out, _ = run("check", tmp_path, "--json")
    what = "bytes at the end of stats-000000.arrows are not a valid commit"
    assert (row["damaged"], row["unfinished"], row["snapshots"], status) == (True, False, 2, 1)
    assert what in json.loads(out)["runs"][0]["damage"][0]
    assert what in run("info", tmp_path / "r")[1]
    assert what in run("sql", tmp_path / "r", "SELECT count(*) FROM snapshots")[2]
    assert what in next(iter(tensortap.open(tmp_path / "r").runs.values())).damage[0]
    client = create_app(tmp_path).test_client()
    (listed,) = client.get("/api/runs").get_json()["runs"]
    assert what in client.get(f"/api/runs/{listed['id']}/snapshots").headers["X-Tensortap-Damage"]


def test_empty_statistics_of_a_killed_worker_are_damage(run: Run, tmp_path: Path) -> None:
    with DumpWriter(tmp_path, "r") as writer:
        writer.log("a", np.ones(2000), step=0)
    (stats,) = tmp_path.rglob("stats-*")
    (stats.parent / "closed.json").unlink()
    stats.write_bytes(b"")
    _age(stats.parent)
    (row,) = json.loads(run("ls", tmp_path, "--json")[1])
    what = f"{stats.parent.name}: stats-000000.arrows is empty."
    assert (row["damaged"], run("check", tmp_path)[0]) == (True, 1)
    assert json.loads(run("info", tmp_path / "r", "--json")[1])["damage"] == [what]
    assert what in run("sql", tmp_path / "r", "SELECT count(*) FROM snapshots")[2]


def test_statistics_of_a_killed_worker_that_are_a_link_are_damage(run: Run, tmp_path: Path) -> None:
    with DumpWriter(tmp_path / "logs", "r") as writer:
        writer.log("a", np.ones(2000), step=0)
    (stats,) = tmp_path.rglob("stats-*")
    (stats.parent / "closed.json").unlink()
    stats.rename(tmp_path / "stats")
    _age(stats.parent)
    stats.symlink_to(tmp_path / "stats")
    os.utime(stats, (1, 1), follow_symlinks=False)
    os.utime(stats.parent, (1, 1))
    (row,) = json.loads(run("ls", tmp_path / "logs", "--json")[1])
    assert (row["damaged"], run("check", tmp_path / "logs")[0]) == (True, 1)
    (sentence,) = json.loads(run("info", tmp_path / "logs/r", "--json")[1])["damage"]
    assert "stats-000000.arrows cannot be read" in sentence


def test_an_incomplete_last_event_of_a_killed_worker_is_reported(run: Run, tmp_path: Path) -> None:
    with DumpWriter(tmp_path, "r") as writer:
        writer.log("a", 1.0, step=0)
        writer.event("batch", step=0, ids=["x"])
    (events,) = tmp_path.rglob("events-*")
    (events.parent / "closed.json").unlink()
    stats = events.parent / "stats-000000.arrows"
    os.truncate(stats, stats.stat().st_size - 8)
    os.truncate(events, events.stat().st_size - 1)
    _age(events.parent)
    (row,) = json.loads(run("ls", tmp_path, "--json")[1])
    assert (row["damaged"], row["unfinished"]) == (False, True)
    what = "its events end in an incomplete line"
    assert what in run("check", tmp_path)[1]
    assert what in run("info", tmp_path / "r")[1]
    assert what in json.loads(run("info", tmp_path / "r", "--json")[1])["damage"][0]
