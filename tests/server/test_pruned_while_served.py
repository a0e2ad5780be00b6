"""A run that is pruned while it is served: each answer is the value, or says that it was pruned."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from werkzeug.test import Client

from tensortap.dump.maintenance.pruning import prune_run
from tensortap.dump.write.retention import Retention
from tensortap.dump.write.writer import DumpWriter
from tensortap.server.app import create_app

STEPS = 12
VALUE = np.arange(20_000, dtype=np.float32)


@pytest.fixture(autouse=True)
def small_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each values file holds some steps, so that values move to another one when a part of it is removed."""
    monkeypatch.setattr("tensortap.dump.write.values_writer.MAX_SHARD", 400_000)


@pytest.fixture
def logdir(tmp_path: Path) -> Path:
    with DumpWriter(tmp_path, "run") as writer:
        for step in range(STEPS):
            writer.log("a", VALUE + step, step=step, keep="value")
            writer.log("b", VALUE - step, step=step, keep="value")
            writer.flush()
    return tmp_path


@pytest.fixture
def client(logdir: Path) -> Client:
    return create_app(logdir).test_client()


def ask(client: Client, name: str, step: int) -> Any:
    run = client.get("/api/runs").json["runs"][0]["id"]
    return client.get(f"/api/runs/{run}/value?tensor={name}:0&step={step}&format=json")


def prune(logdir: Path, keep_last: int) -> None:
    prune_run(logdir / "run", Retention(keep_last=keep_last))


def test_values_that_moved_are_read_where_they_are_now(client: Client, logdir: Path) -> None:
    assert ask(client, "a", STEPS - 1).status_code == 200  # so the index knows where they were

    for keep in range(STEPS - 1, 2, -1):
        prune(logdir, keep)
        answer = ask(client, "b", STEPS - keep)
        assert answer.status_code == 200, answer.json


def test_a_value_that_is_gone_was_pruned(client: Client, logdir: Path) -> None:
    assert ask(client, "a", 0).status_code == 200

    prune(logdir, 3)

    answer = ask(client, "a", 0)
    assert answer.status_code == 410 and "pruned" in answer.json["error"]


def test_requests_while_a_run_is_pruned(client: Client, logdir: Path) -> None:
    """Those for what stays get it all the time, the others the value or that it was pruned."""
    wrong: list[Any] = []
    asked = threading.Event()
    done = threading.Event()

    def viewer() -> None:
        step = 0
        while not done.is_set():
            step = (step + 5) % STEPS
            answer = ask(client, "a", step)
            asked.set()
            if answer.status_code != 200 and not (answer.status_code == 410 and step < STEPS - 2):
                wrong.append((step, answer.status_code, answer.get_data(as_text=True)[:200]))

    thread = threading.Thread(target=viewer)
    thread.start()
    try:
        for keep in range(STEPS - 1, 1, -1):
            asked.wait(10)
            asked.clear()
            prune(logdir, keep)
    finally:
        done.set()
        thread.join()
    assert wrong == []
