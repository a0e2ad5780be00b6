"""The Python and the settings of problems.md, remote.md, server.md and store.md, used as they are written."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
import urllib.request
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf
from documents import blocks, python_of
from polling import until

import tensortap

Start = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty folder, which is the current one."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TENSORTAP_SPOOL", str(tmp_path))
    yield tmp_path


def write_run(name: str = "digits") -> None:
    with tensortap.DumpWriter("logs", name) as writer:
        writer.log("dense/MatMul:0", np.ones((2, 3), np.float32), step=30)


def test_a_rule_of_ones_own_and_settings(here: Path) -> None:
    """GIVEN problems.md's rule as a package and its settings WHEN rules are applied THEN both rules fire."""
    (rule,) = python_of("problems.md")
    (settings,) = (block.text for block in blocks("problems.md") if block.language == "toml")
    (here / "mine.toml").write_text(settings, encoding="utf-8")
    (here / "hot.py").write_text(rule, encoding="utf-8")
    installed = here / "hot-1.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: hot\nVersion: 1\n")
    (installed / "entry_points.txt").write_text("[tensortap.rules]\nhot = hot:hot_embedding\n")
    layers = [keras.layers.Embedding(4, 2, "ones", name="embedding"), keras.layers.Flatten()]
    layers.append(keras.layers.Dense(2, kernel_initializer="ones", name="logits"))
    model = keras.Sequential([keras.layers.Input((3,)), *layers], name="words")
    model.layers[0].set_weights([np.full((4, 2), 200.0)])
    model.compile("sgd", "mse")
    with tensortap.Tap("logs/digits") as tap:
        model.fit(np.zeros((8, 3)), np.zeros((8, 2)), batch_size=4, verbose=0, callbacks=[tap.callback()])
    environment = {**os.environ, "PYTHONPATH": str(here)}
    command = [sys.executable, "-m", "tensortap", "rules", "logs/digits", "--rules", "mine.toml"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "HotEmbedding" in done.stdout and "Clip it." in done.stdout
    assert "BigLogits" in done.stdout and "Scale the last layer." in done.stdout
    assert "LargeWeights" not in done.stdout


def test_runs_at_an_address(here: Path) -> None:
    """The bucket is fsspec's memory: a store of the user's choice."""
    reads, writes = python_of("remote.md")
    bucket = f"memory://{uuid.uuid4().hex}/"
    names: dict[str, Any] = {"tensortap": tensortap}
    exec(writes.replace("s3://bucket/", bucket), names)
    names["writer"].log("w:0", np.ones(3), step=1)
    names["writer"].close()
    names["tap"].function(lambda: tf.exp(1.0))()
    names["tap"].close()
    exec(reads.replace("s3://bucket/", bucket), names)
    assert set(names["log"].runs) == {"arrays", "digits"}
    assert np.asarray(names["log"].runs["arrays"].tensor("w:0")).tolist() == [1, 1, 1]


def test_retention(here: Path) -> None:
    (code,) = python_of("store.md")
    for statement in ast.parse(code).body:
        names: dict[str, Any] = {"tensortap": tensortap}
        exec(f"made = {ast.unparse(statement)}", names)
        names["made"].close()
    assert set(tensortap.open("logs").runs) == {"r"}


def test_a_wsgi_application(here: Path) -> None:
    write_run()
    (code,) = python_of("server.md")
    names: dict[str, Any] = {}
    exec(code.replace("…", "t" * 32), names)
    client, host = names["app"].test_client(), {"Host": "dumps.example.org"}
    assert client.get("/api/runs", headers=host).status_code in (401, 403)
    answer = client.get("/api/runs", headers=host | {"Authorization": f"Bearer {'t' * 32}"})
    assert [run["name"] for run in answer.get_json()["runs"]] == ["digits"]


def test_the_server_says_what_is_shown_and_answers_what_is_asked(
    here: Path, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    """server.md: the lines that `serve` prints, and the requests of a program, run by a shell."""
    write_run()
    token = "0f3c" * 12
    monkeypatch.setenv("TENSORTAP_TOKEN", token)
    (shown,) = (block.text for block in blocks("server.md") if block.text.startswith("tensortap serves"))
    (asked,) = (block.text for block in blocks("server.md") if block.text.startswith("curl "))
    expected = shown.replace("0f3c…", token).strip()
    server = start("serve", "logs", "--port", "0")
    try:
        assert server.stdout is not None
        printed = ""
        while "Ctrl-C" not in printed:
            line = server.stdout.readline()
            assert line, server.communicate()
            printed += line
        port = re.search(r":(\d+)/", printed)
        assert port is not None
        assert printed.strip() == expected.replace("6016", port[1])
        until(lambda: runs(port[1], token), "the run", 60)
        (run,) = runs(port[1], token)
        script = asked.replace("6016", port[1]).replace("runs/ID/", f"runs/{run['id']}/")
        script = script.replace("python -c", f"'{sys.executable}' -c")
        environment = {**os.environ, "TOKEN": token}
        done = subprocess.run(["sh", "-ec", script], env=environment, capture_output=True, text=True)
        assert done.stdout.rstrip().endswith("(2, 3)"), done
    finally:
        server.terminate()
        server.communicate()


def runs(port: str, token: str) -> list[dict[str, Any]]:
    request = urllib.request.Request(f"http://127.0.0.1:{port}/api/runs")
    request.add_header("Authorization", f"Bearer {token}")
    with urllib.request.urlopen(request) as answer:
        found: list[dict[str, Any]] = json.load(answer)["runs"]
    return [run for run in found if run["snapshots"]]
