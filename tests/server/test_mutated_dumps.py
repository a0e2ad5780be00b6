"""One changed byte in a run: each answer is the truth, an error, or of a run that is listed as damaged."""

from __future__ import annotations

import random
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from small_dump import small_graph
from werkzeug.test import Client

from tensortap.dump.write.writer import DumpWriter
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
