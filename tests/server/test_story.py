"""What a story holds, and when none is made."""

from __future__ import annotations

import base64
import gzip
import json
import re
import zipfile
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from small_dump import Api, write_dump
from werkzeug.test import Client

from tensortap.__main__ import main
from tensortap.dump.format.layout import VIEWER_PART
from tensortap.dump.write.writer import DumpWriter
from tensortap.server import story
from tensortap.server.app import create_app

TOKEN = "0123456789abcdef" * 3
VIEWER = f"<html>{story._PLACE}<script>page()</script></html>"


@pytest.fixture
def viewer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A viewer that was built."""
    path = tmp_path / "viewer.html"
    path.write_text(VIEWER)
    monkeypatch.setattr(story, "VIEWER", path)


def answers(found: dict[str, Any], noun: str) -> list[dict[str, Any]]:
    return [answer for answer in found["answers"] if answer["path"].endswith(f"/{noun}")]


def embedded(html: str) -> dict[str, Any]:
    data = re.search(r'id="tensortap-story">([^<]*)</script>', html)
    assert data is not None
    found: dict[str, Any] = json.loads(gzip.decompress(base64.b64decode(data[1])))
    return found


def test_a_story_holds_what_the_server_answers(api: Api, first: str) -> None:
    found = api.json(f"{first}/story")
    assert (found["format"], found["version"], found["name"]) == ("tensortap-story", 1, "exp/first")
    assert found["left_out"] == []
    (source,) = answers(found, "source")
    assert source["json"] == api.json(f"{first}/source?file=train.py")
    values = answers(found, "value")
    assert {answer["query"]["step"] for answer in values} == {"0", "1", "2"}
    asked = {"tensor": "dense/MatMul:0", "step": "1"}
    (value,) = (answer for answer in values if answer["query"].items() >= asked.items())
    expected = api.get(f"{first}/value?tensor=dense/MatMul:0&step=1").get_data()
    assert base64.b64decode(value["data"]) == expected
    (nan,) = answers(found, "nan")
    assert nan["json"]["working"] is False and nan["json"]["report"]["step"] == 1
    listed = next(answer for answer in found["answers"] if answer["path"] == "runs")
    assert [run["name"] for run in listed["json"]["runs"]] == ["exp/first"]


def test_a_value_that_several_workers_have_is_held_once(tmp_path: Path) -> None:
    for rank in range(3):
        with DumpWriter(tmp_path, "r", rank=rank) as writer:
            for step in range(2):
                writer.log("x", np.full(5, rank), step=step)
    values = answers(story.story_of(create_app(tmp_path)), "value")
    assert sorted(answer["query"]["step"] for answer in values) == ["0", "1"]


def test_of_some_steps_only_those_are_offered(api: Api, first: str) -> None:
    found = api.json(f"{first}/story?steps=0:1&also=2")
    detail = next(answer for answer in found["answers"] if answer["path"].count("/") == 1)
    assert detail["json"]["steps"]["step"] == [0, 2]
    assert {answer["query"]["step"] for answer in answers(found, "value")} == {"0", "2"}
    assert found["left_out"][0].startswith("1 of 3 steps")
    api.json(f"{first}/story?steps=7", 404)
    api.json(f"{first}/story?also=x", 400)


def test_a_named_tensor_must_exist(logdir: Path, viewer: None, tmp_path: Path, capsys: Any) -> None:
    story = ["story", str(logdir / "exp" / "first"), "--out", str(tmp_path / "out.html"), "--tensor"]
    assert main([*story, "dense/Matmul:0"]) == 1
    err = capsys.readouterr().err
    assert "No tensor 'dense/Matmul:0' was captured." in err and "Did you mean 'dense/MatMul:0'" in err
    assert main([*story, "dense/MatMul"]) == 0


def test_a_full_story_says_what_is_missing(logdir: Path) -> None:
    found = story.story_of(create_app(logdir / "exp" / "first"), max_bytes=20_000)
    assert any("history, histograms and values" in sentence for sentence in found["left_out"])


def test_hostile_names_and_the_token_do_not_reach_the_page(tmp_path: Path, viewer: None) -> None:
    name = "</script><script>alert(1)</script>"
    with DumpWriter(tmp_path / "logs", "odd", info={"note": name}) as writer:
        writer.log(f"{name}:0", np.ones(3), step=0, keep="value")
    client = Api(Client(create_app(tmp_path / "logs", token=TOKEN)))
    run = client.json("/api/runs", headers={"Authorization": f"Bearer {TOKEN}"})["runs"][0]["id"]
    found = client.json(f"/api/runs/{run}/story?token={TOKEN}")
    assert TOKEN not in json.dumps(found)
    html = story.story_html(found)
    assert html.count("<script") == VIEWER.count("<script") and "alert(1)" not in html
    assert embedded(html) == found
    assert any(answer["query"].get("tensor") == f"{name}:0" for answer in found["answers"])


def test_a_damaged_run_is_neither_a_story_nor_packed(tmp_path: Path, viewer: None, capsys: Any) -> None:
    write_dump(tmp_path)
    (values,) = (tmp_path / "exp" / "first").glob("*/stats-*")
    data = bytearray(values.read_bytes())
    data[len(data) // 2] ^= 4
    values.write_bytes(data)
    api = Api(Client(create_app(tmp_path)))
    run = f"/api/runs/{api.run_id('exp/first')}"
    for noun in ("story", "tap.zip", "tap.zip?steps=1", "tap.zip?match=Relu"):
        assert "damaged" in api.json(f"{run}/{noun}", 422)["error"]
    out = tmp_path / "out.html"
    assert main(["story", str(tmp_path / "exp" / "first"), "--out", str(out)]) == 1
    assert "damaged" in capsys.readouterr().err
    assert not out.exists()


def test_of_an_empty_run_there_is_no_story(tmp_path: Path, viewer: None, capsys: Any) -> None:
    with DumpWriter(tmp_path / "logs", "empty"):
        pass
    assert main(["story", str(tmp_path / "logs"), "--out", str(tmp_path / "out.html")]) == 1
    assert "has no snapshots" in capsys.readouterr().err
    assert not (tmp_path / "out.html").exists()


def test_a_packed_part_is_read_in_place_and_has_its_own_story(api: Api, first: str, tmp_path: Path) -> None:
    answer = api.get(f"{first}/tap.zip?steps=1")
    assert answer.content_type == "application/zip"
    with zipfile.ZipFile(BytesIO(answer.get_data())) as archive:
        found = json.loads(gzip.decompress(archive.read(VIEWER_PART)))
    assert {row["query"]["step"] for row in answers(found, "value")} == {"1"}
    path = tmp_path / "part.tap.zip"
    path.write_bytes(answer.get_data())
    again = Api(Client(create_app(path)))
    assert [run["steps"]["count"] for run in again.json("/api/runs")["runs"]] == [1]
    assert main(["check", str(path)]) == 0


def test_the_command_writes_the_page(logdir: Path, tmp_path: Path, viewer: None, capsys: Any) -> None:
    out = tmp_path / "story.html"
    arguments = ["story", str(logdir / "exp" / "first"), "--step", "-1", "--tensor", "dense/MatMul:0"]
    assert main([*arguments, "--out", str(out), "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["bytes"] == out.stat().st_size
    found = embedded(out.read_text())
    assert {answer["query"]["step"] for answer in answers(found, "value")} == {"2"}
    assert found["link"].endswith("&view=problems")
    assert main([*arguments, "--out", str(out)]) == 1  # it exists
    assert main([*arguments, "--out", str(tmp_path / "story.txt")]) == 1


def test_export_stores_the_viewers_part_where_asked(logdir: Path, tmp_path: Path) -> None:
    out = tmp_path / "run.tap.zip"
    assert main(["export", str(logdir / "exp" / "first"), "--viewer", "--out", str(out)]) == 0
    with zipfile.ZipFile(out) as archive:
        assert VIEWER_PART in archive.namelist()
    assert main(["check", str(out)]) == 0
    assert main(["export", str(logdir / "exp" / "first"), "--viewer", "--out", str(tmp_path / "a.csv")]) == 1
