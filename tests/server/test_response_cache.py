"""Answers are made once for all who ask while a run does not change, and anew when it does."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from polling import until
from werkzeug.test import Client

from tensortap.core.records import Graph, Node
from tensortap.dump.write.writer import DumpWriter
from tensortap.index.series.history import History, history
from tensortap.server import response_cache
from tensortap.server.app import create_app

OWN = {"Host": "localhost"}


@pytest.fixture(autouse=True)
def whole_readings(monkeypatch: pytest.MonkeyPatch) -> None:
    """No request is answered in the middle of a reading, however slow the machine."""
    monkeypatch.setattr("tensortap.server.log_reader.NEWS_TIMEOUT", 30.0)


class Counted:
    """Counts how often a history is made; each waits for the others to ask, too."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.calls = 0
        self.fails = False
        monkeypatch.setattr("tensortap.server.routes.series.history", self._made)

    def _made(self, *arguments: object, **options: object) -> History:
        self.calls += 1
        if self.fails:
            raise OSError("once")
        return history(*arguments, **options)  # type: ignore[arg-type]


def history_of_x(client: Client, snapshots: int) -> str:
    """The address of the only run's history, once that many snapshots are read: it does not change then."""

    def runs() -> list[dict[str, Any]]:
        return client.get("/api/runs", headers=OWN).get_json()["runs"]

    until(lambda: [run["snapshots"] for run in runs()] == [snapshots], "all snapshots")
    return f"/api/runs/{runs()[0]['id']}/history?tensor=x:0"


def test_many_viewers_are_answered_by_one_reading(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    counted = Counted(monkeypatch)
    with DumpWriter(tmp_path, "r") as writer:
        for step in range(600):
            writer.log("x", np.float32(step), step=step)
        writer.flush()
        app = create_app(tmp_path)
        client = Client(app)
        address = history_of_x(client, 600)
        answers: list[bytes] = []
        viewers = [
            threading.Thread(target=lambda: answers.append(Client(app).get(address, headers=OWN).get_data()))
            for _ in range(8)
        ]
        for viewer in viewers:
            viewer.start()
        for viewer in viewers:
            viewer.join()
        assert (len(set(answers)), counted.calls) == (1, 1)
        packed = client.get(address, headers=OWN | {"Accept-Encoding": "gzip"})
        assert packed.headers["Content-Encoding"] == "gzip"
        again = client.get(
            address, headers=OWN | {"If-None-Match": client.get(address, headers=OWN).headers["ETag"]}
        )
        assert (again.status_code, counted.calls) == (304, 1)
        assert client.get(f"{address}&limit=5", headers=OWN).get_json()["thinned_from"] == 600
        assert client.get(f"{address}&limits=5", headers=OWN).status_code == 400
        writer.log("x", np.float32(1), step=600)
        writer.flush()

        def steps() -> int:
            return len(client.get(address, headers=OWN).get_json()["columns"]["step"])

        until(lambda: steps() == 601, "the new step")


@pytest.mark.parametrize("finds", ["", "/graphs", "/history?tensor=x:0"])
def test_damage_that_a_first_read_finds_is_in_the_next_answer(tmp_path: Path, finds: str) -> None:
    with DumpWriter(tmp_path, "r") as writer:
        writer.log("x", np.float32(1), step=0, graph=writer.graph(Graph("g", [Node("x", "Const")])))
    client = Client(create_app(tmp_path))
    place = history_of_x(client, 1).partition("/history")[0]
    (path,) = tmp_path.rglob("graphs/*.arrows")
    path.write_bytes(path.read_bytes()[:-40] + bytes(40))
    assert client.get(place + finds, headers=OWN).status_code == 200
    damage = client.get(place, headers=OWN).get_json()["damage"]
    assert [sentence.partition(":")[0] for sentence in damage] == [f"graph {path.stem}"]
    assert client.get(place, headers=OWN).headers["X-Tensortap-Damage"] == damage[0]


def test_what_failed_is_tried_again_and_little_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted = Counted(monkeypatch)
    monkeypatch.setattr("tensortap.server.response_cache._MAX_ANSWERS", 2)
    with DumpWriter(tmp_path, "r") as writer:
        writer.log("x", np.float32(1), step=0)
    client = Client(create_app(tmp_path))
    address = history_of_x(client, 1)
    counted.fails = True
    assert client.get(address, headers=OWN).status_code == 500
    counted.fails = False
    for limit in (2, 2, 3, 4, 2):
        assert client.get(f"{address}&limit={limit}", headers=OWN).status_code == 200
    assert counted.calls == 5


def test_what_fails_takes_no_room_and_addresses_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with DumpWriter(tmp_path, "r") as writer:
        writer.log("x", np.float32(1), step=0)
    app = create_app(tmp_path)
    client, answers = Client(app), app.extensions[response_cache._KEY]
    address = history_of_x(client, 1)
    for unknown in range(20):
        assert client.get(f"{address}&junk{unknown}=1", headers=OWN).status_code == 400
    assert not answers._answers
    monkeypatch.setattr(response_cache, "_MAX_ADDRESS", len(address))
    assert client.get(f"{address}&limit=5", headers=OWN).status_code == 200
    assert not answers._answers, "an address that is too long to be kept is answered all the same"
    body = client.get(address, headers=OWN).get_data()
    [answer] = answers._answers.values()
    assert answer.size == len(address) + len(body)
    monkeypatch.setattr(response_cache, "_MAX_BYTES", len(body))
    monkeypatch.setattr(response_cache, "_MAX_ADDRESS", 2 * len(address))
    assert client.get(f"{address}&limit=5", headers=OWN).status_code == 200
    assert not answers._answers
