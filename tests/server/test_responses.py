"""What holds for all answers: gzip, caching, live reading, failures."""

from __future__ import annotations

import gzip
import logging
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from polling import until
from small_dump import Api

from tensortap.dump.write.writer import DumpWriter
from tensortap.server.responses import responses
from tensortap.server.routes import runs

Opened = Callable[..., Api]
GZIP = {"Accept-Encoding": "gzip, br"}


def test_large_answers_are_packed(api: Api, first: str) -> None:
    path = f"{first}/snapshots?limit=1000"
    plain = api.get(path)
    packed = api.get(path, headers=GZIP)
    assert "Content-Encoding" not in plain.headers
    assert packed.headers["Content-Encoding"] == "gzip"
    assert "Accept-Encoding" in packed.headers["Vary"]
    assert gzip.decompress(packed.get_data()) == plain.get_data()
    assert int(packed.headers["Content-Length"]) == len(packed.get_data())
    assert packed.headers["ETag"] != plain.headers["ETag"]
    again = api.client.get(path, headers=GZIP | {"If-None-Match": packed.headers["ETag"]})
    assert again.status_code == 304


def test_small_answers_are_not_packed(api: Api) -> None:
    answer = api.get("/api/changes", headers=GZIP)
    assert len(answer.get_data()) < responses.GZIP_FROM
    assert "Content-Encoding" not in answer.headers


def test_a_failure_nobody_expected_tells_nothing_about_the_machine(
    logdir: Path, opened: Opened, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail() -> None:
        raise RuntimeError("secret /home/somebody")

    monkeypatch.setattr(runs, "current_log", fail)
    with caplog.at_level(logging.ERROR):
        answer = opened(logdir).json("/api/runs", 500)
    assert "secret" not in str(answer)
    assert "secret" in caplog.text, "the terminal has the details"


def test_a_file_that_vanishes_is_a_404(logdir: Path, opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise FileNotFoundError(2, "No such file", "/home/somebody/x")

    monkeypatch.setattr(runs, "current_log", fail)
    assert "somebody" not in str(opened(logdir).json("/api/runs", 404))


def test_a_commit_is_visible_soon(tmp_path: Path, opened: Opened) -> None:
    api = opened(tmp_path)
    assert api.json("/api/runs")["runs"] == []
    with DumpWriter(tmp_path, run="live") as writer:
        for step in range(3):
            writer.log("x:0", np.ones(3, np.float32), step=step)
            writer.flush()
            until(lambda step=step: last_steps(api) == [step], "the committed step", 1.5)
    before = api.json("/api/changes")
    assert [run["snapshots"] for run in before["runs"].values()] == [3]


def last_steps(api: Api) -> list[int]:
    return [run["steps"]["last"] for run in api.json("/api/runs")["runs"]]


def test_broken_runs_are_reported(tmp_path: Path, opened: Opened) -> None:
    (tmp_path / "future").mkdir()
    (tmp_path / "future" / "run.json").write_text('{"format": "tensortap", "version": 99, "run": "future"}')
    answer = opened(tmp_path).json("/api/runs")
    assert "99" in answer["runs"][0]["error"]


@pytest.mark.parametrize("name", ["If-Modified-Since", "If-Unmodified-Since", "If-Range"])
@pytest.mark.parametrize("path", ["/api/runs", "/index.html"])
def test_a_date_that_is_none_changes_nothing(api: Api, name: str, path: str) -> None:
    answer = api.client.get(path, headers={name: "Tue, 01 Jan 99999999999 00:00:00 GMT"})
    assert answer.status_code == 200
