"""A web server that fails: what a request needs of it is a 502, and all that was found stays."""

from __future__ import annotations

import logging
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from flask.testing import FlaskClient
from polling import until
from range_server import Server, serving
from werkzeug.test import TestResponse

from tensortap.dump.write.writer import DumpWriter
from tensortap.server import log_reader
from tensortap.server.app import create_app
from tensortap.storage.uri import path_of


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("elsewhere")
    for run in ("big", "small"):
        with DumpWriter(folder, run) as writer:
            for step in range(2):
                writer.log("w", np.arange(2**16, dtype=np.float32) + step, step=step, keep="value")
    return folder


@pytest.fixture
def web(written: Path) -> Iterator[Server]:
    with serving(written) as server:
        yield server


def _client(server: Server) -> FlaskClient:
    client = create_app(path_of(server.address)).test_client()
    until(lambda: list(_runs(client).values()) == [(2, None)] * 2, "the runs")
    return client


def _runs(client: FlaskClient) -> dict[str, tuple[int, str | None]]:
    """Name -> (snapshots, error)."""
    answer = client.get("/api/runs")
    assert answer.status_code == 200
    return {run["name"]: (run["snapshots"], run["error"]) for run in answer.get_json()["runs"]}


def _value(client: FlaskClient) -> TestResponse:
    """A row of the value of a step that was not asked for before."""
    found = next(run for run in client.get("/api/runs").get_json()["runs"] if run["name"] == "big")
    return client.get(f"/api/runs/{found['id']}/value?tensor=w:0&step=1&format=json&selection=0:4")


@pytest.mark.parametrize(
    ("odd", "why"),
    [
        ("", "does not support range requests"),
        ("long", "longer than the requested range"),
        ("cut", "cannot be read"),
        ("endless", "longer"),
    ],
)
def test_what_is_not_sent_as_asked_for_is_a_502(
    web: Server, caplog: pytest.LogCaptureFixture, odd: str, why: str
) -> None:
    client = _client(web)
    web.ranges, web.odd, web.sent = bool(odd), odd, 0
    answer = _value(client)
    assert (answer.status_code, why in answer.get_json()["error"]) == (502, True), answer.get_json()
    assert answer.get_json()["hint"]
    assert web.address not in answer.get_data(as_text=True)
    assert web.sent < 32 << 20  # what fits into the buffers between the two
    assert list(_runs(client)) == ["small", "big"]
    assert not [record for record in caplog.records if record.levelno >= logging.ERROR]


def test_runs_that_were_found_stay_while_the_server_fails(web: Server) -> None:
    client = _client(web)
    web.odd = "fails"
    until(lambda: all(error for _, error in _runs(client).values()), "the errors")
    assert {name: count for name, (count, _) in _runs(client).items()} == {"big": 2, "small": 2}
    assert "500" in str(_runs(client)["big"][1])
    web.odd = ""
    until(lambda: list(_runs(client).values()) == [(2, None)] * 2, "the runs to be whole again")


def test_a_description_that_is_not_sent_at_once_is_asked_for_again(web: Server) -> None:
    """GIVEN files that cannot be read as their runs are found WHEN they can THEN nothing is said to miss."""
    web.odd = "cut"
    client = create_app(path_of(web.address)).test_client()
    until(lambda: list(_runs(client).values()) not in ([], [(0, None)] * 2), "the runs")
    web.odd = ""
    until(lambda: list(_runs(client).values()) == [(2, None)] * 2, "the runs to be whole")
    for run in client.get("/api/runs").get_json()["runs"]:
        assert client.get(f"/api/runs/{run['id']}/problems").get_json()["damage"] == []


def test_runs_that_were_removed_go(written: Path, tmp_path: Path) -> None:
    shutil.copytree(written, tmp_path / "logs")
    with serving(tmp_path / "logs") as server:
        client = _client(server)
        shutil.rmtree(tmp_path / "logs" / "small")
        until(lambda: list(_runs(client)) == ["big"], "the run to go")


def test_changes_are_reported_while_the_server_does_not_answer(
    web: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = _client(web)
    monkeypatch.setattr(
        log_reader, "NEWS_TIMEOUT", 0.1
    )  # however busy the machine is: the tests' own is a minute
    web.odd = "waits"
    answers: list[int] = []
    asking = threading.Thread(
        target=lambda: answers.extend(client.get("/api/changes").status_code for _ in range(4)), daemon=True
    )
    asking.start()
    asking.join(20)
    web.odd = ""
    web.resumed.set()
    assert answers == [200] * 4
