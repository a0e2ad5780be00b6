"""One changed byte in a run: each answer is the truth, an error, or of a run that is listed as damaged."""

from __future__ import annotations

import errno
import os
import random
from pathlib import Path
from typing import NoReturn

import ml_dtypes
import numpy as np
import pytest
from compacted import compact, copied, files_of, write_worker
from small_dump import Api, small_graph
from werkzeug.test import Client

import tensortap
from tensortap.__main__ import main
from tensortap.core.errors import DamagedError
from tensortap.dump.recording import recording_files
from tensortap.dump.recording.recording import Recording
from tensortap.dump.recording.recording_files import write_recording
from tensortap.dump.write.writer import DumpWriter
from tensortap.server import log_reader
from tensortap.server.app import create_app

RNG = np.random.default_rng(0)
ARRAYS = {
    "float32": RNG.standard_normal((120, 100)).astype(np.float32),
    "bfloat16": RNG.standard_normal((200, 200)).astype(ml_dtypes.bfloat16),
    "complex": (RNG.standard_normal((60, 60)) + 1j).astype(np.complex64),
    "int4": RNG.integers(-8, 7, (300, 200)).astype(ml_dtypes.int4),
    "packed": np.where(RNG.random((300, 100)) < 0.1, RNG.standard_normal((300, 100)), 0),
    "text": np.array([b"x" * int(n) for n in RNG.integers(0, 40, 2000)], object).reshape(20, 100),
    "row": RNG.standard_normal((4, 5)),
}
ARRAYS["float32"][7, 8] = np.nan
QUESTIONS = [
    *(f"value?tensor={name}&step=0&format=json&selection={part}" for name in ARRAYS for part in ("", "3:5")),
    *(f"value?tensor={name}&step=0&selection=1,::2" for name in ARRAYS if name != "text"),
    "value?tensor=float32&step=0&format=png&selection=0:64,0:64",
    "value?tensor=row&step=0&format=csv",
    *("nonfinite?tensor=float32&step=0", "histograms?tensor=float32", "history?tensor=row"),
    *("snapshots?sort=tensor", "graphs"),
]


def answers(logdir: Path) -> tuple[dict[str, tuple[int, bytes]], bool]:
    """(status, body) by question, and whether the run is listed as damaged."""
    client = Client(create_app(logdir))
    (listed,) = client.get("/api/runs").get_json()["runs"]
    address = f"/api/runs/{listed['id']}"
    marked = bool(client.get(address).get_json()["damage"])
    assert marked == listed["damaged"]
    found = {question: client.get(f"{address}/{question}") for question in QUESTIONS}
    graph = next(iter(found["graphs"].get_json().get("graphs", [])), {"id": "none"})["id"]
    for question in ("", "/steps/0", "/sources"):
        found[f"graph{question}"] = client.get(f"{address}/graphs/{graph}{question}")
    return {name: (answer.status_code, answer.get_data()) for name, answer in found.items()}, marked


@pytest.mark.parametrize(
    "pattern",
    [
        "*/values-*",
        "*/stats-*",
        "*/events-*",
        "graphs/*.arrows",
        "run.json",
        "*/worker.json",
        "*/closed.json",
    ],
)
def test_no_answer_is_silently_different(
    tmp_path: Path, pattern: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    logdir = tmp_path / "logs"
    with DumpWriter(logdir, "r", info={"command": "train.py"}) as writer:
        graph = writer.graph(small_graph())
        for name, array in ARRAYS.items():
            writer.log(name, array, step=0)
        writer.log("dense/MatMul:0", np.ones((3, 3), np.float32), step=0, graph=graph)
        writer.event("trigger", step=0, trigger="NonFinite()", reason="because", stops=False)
    truth, marked = answers(logdir)
    assert not marked
    assert sum(status == 200 for status, _ in truth.values()) >= 25
    (file,) = (logdir / "r").glob(pattern)
    whole = file.read_bytes()
    draw = random.Random(pattern)
    noticed = 0
    for _ in range(5):
        begin = 262_144 if "values" in pattern else 0
        at = draw.randrange(begin, len(whole))
        changed = bytearray(whole)
        changed[at] ^= 1 << draw.randrange(8)
        file.write_bytes(changed)
        found, marked = answers(logdir)
        wrong = [
            question
            for question, answer in found.items()
            if answer != truth.get(question) and answer[0] < 400
        ]
        assert marked or not wrong, (at, wrong)
        noticed += marked or found != truth
    assert noticed == 5


def flip(path: Path, at: int) -> None:
    data = path.read_bytes()
    path.write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])


def test_an_answer_of_another_worker_names_the_damaged_one(tmp_path: Path) -> None:
    workers = []
    for value in (1.0, 2.0):
        with DumpWriter(tmp_path, "r") as writer:
            writer.log("a", value, step=0)
            workers.append(writer.worker)
    api = Api(Client(create_app(tmp_path)))
    address = f"/api/runs/{api.run_id('r')}/value?tensor=a&step=0&format=json"
    sound = api.get(address)
    assert (sound.get_json()["data"], sound.headers.get("X-Tensortap-Damage")) == (2.0, None)
    flip(tmp_path / "r" / workers[1] / "stats-000000.arrows", 3000)
    api = Api(Client(create_app(tmp_path)))
    other = api.get(address)
    assert other.get_json()["data"] == 1.0
    assert other.headers["X-Tensortap-Damage"].startswith(workers[1])
    again = api.client.get(address, headers={"If-None-Match": other.headers["ETag"]})
    assert (again.status_code, again.headers["X-Tensortap-Damage"]) == (
        304,
        other.headers["X-Tensortap-Damage"],
    )
    run_id = api.run_id("r")
    difference = api.client.get(f"/api/diff/worst?a={run_id}&b={run_id}&tensor=a")
    assert difference.headers["X-Tensortap-Damage"].startswith(workers[1])
    run = tensortap.open(tmp_path).runs["r"]
    with pytest.raises(DamagedError, match=workers[1]) as refused:
        run.tensor("a", step=0)
    assert refused.value.hint == f"Choose one with worker={workers[0]!r}."
    assert run.tensor("a", step=0, worker=workers[0])[()] == 1.0


def test_the_first_answer_of_damaged_compacted_rows_is_marked(tmp_path: Path) -> None:
    write_worker(tmp_path / "whole", range(3))
    compact(tmp_path / "whole/r")
    logdir = copied(tmp_path / "whole", tmp_path / "copy")
    flip(files_of(logdir / "r", "rows")[0], 500)
    api = Api(Client(create_app(logdir)))
    answer = api.get(f"/api/runs/{api.run_id('r')}/snapshots")
    assert answer.get_json()["total"] == 0
    assert answer.headers["X-Tensortap-Damage"].startswith("The steps 0 to 2 cannot be read")


def test_a_recording_that_is_damaged_while_it_is_served_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_reader, "REFRESH_INTERVAL", 0.0)
    for name in "rs":
        with DumpWriter(tmp_path, name) as writer:
            writer.log("a", 1.0, step=3)
    recordings = [write_recording(tmp_path / name, Recording("f", b"library", (), 3)) for name in "rs"]
    file, other = (path / "recording.json" for path in recordings)
    whole, status = file.read_bytes(), file.stat()
    api = Api(Client(create_app(tmp_path)))
    address = f"/api/runs/{api.run_id('r')}"
    for changed, why in (
        (whole[:40] + b"!" + whole[41:], "does not match its checksum"),
        (other.read_bytes(), "belongs to another run"),
    ):
        file.write_bytes(whole)
        assert api.json(address)["damage"] == []
        file.write_bytes(changed)
        os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
        (sentence,) = api.json(address)["damage"]
        assert sentence.startswith(f"recording {file.parent.name}: recording.json {why}")


@pytest.mark.parametrize("why", ["the run was removed or moved", "Permission denied"])
def test_recordings_that_can_no_longer_be_listed_are_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, why: str
) -> None:
    """GIVEN a served archive WHEN it is deleted, or made unreadable, and the log was not read again THEN the
    empty list of recordings is marked."""
    with DumpWriter(tmp_path, "r") as writer:
        writer.log("a", 1.0, step=3)
    write_recording(tmp_path / "r", Recording("f", b"library", (), 3))
    archive = tmp_path / "r.tap.zip"
    assert main(["export", str(tmp_path / "r"), "--out", str(archive)]) == 0
    api = Api(Client(create_app(archive)))
    address = f"/api/runs/{api.run_id('r')}/recordings"
    whole = api.get(address)
    assert len(whole.get_json()["recordings"]) == 1
    assert "X-Tensortap-Damage" not in whole.headers
    monkeypatch.setattr(log_reader, "REFRESH_INTERVAL", 1000.0)
    if why == "Permission denied":
        monkeypatch.setattr(recording_files, "scan", deny)
    else:
        archive.unlink()
    answer = api.get(address)
    assert answer.get_json()["recordings"] == []
    assert answer.headers["X-Tensortap-Damage"] == f"recordings/ cannot be read: {why}."


def deny(path: Path) -> NoReturn:
    raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
