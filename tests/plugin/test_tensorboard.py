"""The tab in a real TensorBoard, with and without a path prefix."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import quote

import numpy as np
import pytest
from polling import until
from s3_server import s3_server
from small_dump import ODD_NODES
from tensorboard.plugins import base_plugin
from tensorboard_process import Start, TensorBoard
from werkzeug.test import Client

from tensortap.dump.write.writer import DumpWriter
from tensortap.plugin.plugin import TensortapPlugin, allowed_hosts

PLUGIN = "/data/plugin/tensortap"


@pytest.fixture(scope="module", params=["", "/some/prefix"], ids=["root", "prefix"])
def board(request: pytest.FixtureRequest, start_tensorboard: Start, logdir: Path) -> TensorBoard:
    return start_tensorboard(logdir, prefix=request.param)


def test_the_tab_is_listed_and_active(board: TensorBoard) -> None:
    entry = board.get("/data/plugins_listing").json()["tensortap"]
    assert entry["enabled"] is True
    assert entry["tab_name"] == "Tensortap"
    assert entry["loading_mechanism"]["type"] == "IFRAME"
    assert entry["loading_mechanism"]["module_path"].endswith(f"{PLUGIN}/plugin.js")


def test_the_frame_imports_the_build_s_module(board: TensorBoard) -> None:
    frame = board.get("/data/plugin_entry.html?name=tensortap").body.decode()
    assert 'import("./plugin.js")' in frame
    module = board.get(f"{PLUGIN}/plugin.js")
    assert module.headers["Content-Type"] == "text/javascript; charset=utf-8"
    assert b"function render()" in module.body


def test_the_page_and_the_api_are_below_the_plugin(board: TensorBoard) -> None:
    page = board.get(f"{PLUGIN}/index.html")
    assert page.status == 200
    assert "frame-ancestors 'self'" in page.headers["Content-Security-Policy"]
    answer = board.get(f"{PLUGIN}/api/runs")
    names = {run["name"]: run["id"] for run in answer.json()["runs"]}
    assert set(names) == {"exp/first", "numpy"}
    run = board.get(f"{PLUGIN}/api/runs/{names['exp/first']}/nodes/dense/MatMul")
    assert run.json()["op_type"] == "MatMul"


def test_errors_are_ours(board: TensorBoard) -> None:
    answer = board.get(f"{PLUGIN}/api/runs/unknown")
    assert answer.status == 404
    assert set(answer.json()) == {"error", "hint"}


def test_not_modified(board: TensorBoard) -> None:
    etag = board.get(f"{PLUGIN}/api/runs").headers["ETag"]
    again = board.get(f"{PLUGIN}/api/runs", If_None_Match=etag)
    assert again.status == 304
    assert again.body == b""


@pytest.mark.parametrize("name", [name for name in ODD_NODES if name.isascii()])
def test_odd_names_reach_us(board: TensorBoard, name: str) -> None:
    runs = board.get(f"{PLUGIN}/api/runs").json()["runs"]
    run = next(run["id"] for run in runs if run["name"] == "exp/first")
    answer = board.get(f"{PLUGIN}/api/runs/{run}/nodes?node={quote(name, safe='')}")
    assert answer.json()["name"] == name


def test_a_rebound_name_is_refused(board: TensorBoard) -> None:
    answer = board.get(f"{PLUGIN}/api/runs", Host="evil.example:6006")
    assert answer.status == 403
    assert "TENSORTAP_ALLOW_HOST=evil.example:6006" in answer.json()["hint"]


def test_tensorboard_has_nothing_to_warn_about(board: TensorBoard) -> None:
    board.get(f"{PLUGIN}/index.html")
    log = board.log.read_text()
    assert "In 3.0, this warning will become an error" not in log
    assert "Plugin tensortap failed" not in log


def test_a_tensorboard_on_the_network_checks_no_host(start_tensorboard: Start, logdir: Path) -> None:
    board = start_tensorboard(logdir, "--bind_all")
    root = board.root
    board.root = "http://127.0.0.1:" + root.rsplit(":", 1)[1]
    assert board.get(f"{PLUGIN}/api/runs", Host="gpubox:6006").status == 200


@pytest.mark.parametrize(
    ("flags", "hosts"),
    [
        ({}, []),
        ({"host": "127.1"}, ["127.1"]),  # as the machine's own name may be: an address that is loopback
        ({"host": "0.0.0.0"}, None),
        ({"host": "127.0.0.1", "bind_all": True}, None),
    ],
)
def test_names_are_checked_wherever_tensorboard_listens_on_loopback(
    flags: dict[str, object], hosts: list[str] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TENSORTAP_ALLOW_HOST", raising=False)
    assert allowed_hosts(SimpleNamespace(**flags)) == hosts


def test_an_empty_directory_has_an_active_tab(tmp_path: Path) -> None:
    plugin = TensortapPlugin(base_plugin.TBContext(logdir=str(tmp_path / "later")))
    assert plugin.is_active()
    assert set(plugin.get_plugin_apps()) == {"/*"}
    assert plugin.frontend_metadata().tab_name == "Tensortap"


def test_a_bucket_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """GIVEN a run in a bucket of an S3 server WHEN the tab asks for runs THEN it is there."""
    monkeypatch.setenv("TENSORTAP_SPOOL", str(tmp_path))
    with s3_server() as server:
        for name, value in server.items():
            monkeypatch.setenv(name, value)
        make_bucket = "import s3fs; s3fs.S3FileSystem().mkdir('tab')"
        subprocess.run([sys.executable, "-c", make_bucket], check=True)
        # No other test uses this name: a process keeps its connection to an address.
        with DumpWriter("s3://tab/logs", "digits") as writer:
            writer.log("x", np.ones(3), step=4)
        plugin = TensortapPlugin(base_plugin.TBContext(logdir="s3://tab/logs"))
        assert plugin.is_active()
        client = Client(plugin.get_plugin_apps()["/*"])
        found = lambda: [run["name"] for run in client.get(f"{PLUGIN}/api/runs").get_json()["runs"]]  # noqa: E731
        until(lambda: found() == ["digits"], "the run was found")


def test_an_unknown_address_has_no_tab() -> None:
    plugin = TensortapPlugin(base_plugin.TBContext(logdir="nothing://bucket/logs"))
    assert not plugin.is_active()
