"""`tensortap serve` as a process: prints one address, answers, ends at once."""

from __future__ import annotations

import json
import re
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from polling import until

from tensortap.dump.write.writer import DumpWriter
from tensortap.system.temp_dirs import scratch_folder

pytestmark = pytest.mark.slow

Start = Callable[..., subprocess.Popen[str]]


def read_address(process: subprocess.Popen[str]) -> tuple[str, str, str]:
    """(root, token, everything printed) once the server has said where it is."""
    assert process.stdout is not None
    lines: list[str] = []
    for line in process.stdout:
        lines.append(line)
        if "Ctrl-C" in line:
            break
    text = "".join(lines)
    found = re.search(r"(http://\S+?/)(?:\?token=(\w+))?\s", text)
    assert found, text + (process.stderr.read() if process.stderr else "")
    return found.group(1), found.group(2) or "", text


def runs(root: str, token: str) -> list[str]:
    request = urllib.request.Request(root + "api/runs", headers={"Authorization": f"Bearer {token}"})
    with urllib.request.urlopen(request, timeout=10) as answer:
        return [run["name"] for run in json.load(answer)["runs"]]


def end(process: subprocess.Popen[str], by: signal.Signals = signal.SIGINT) -> tuple[float, str, str]:
    begun = time.monotonic()
    process.send_signal(by)
    out, err = process.communicate(timeout=20)
    return time.monotonic() - begun, out, err


@pytest.mark.parametrize("by", [signal.SIGINT, signal.SIGTERM])
def test_a_live_directory_that_did_not_exist(start: Start, tmp_path: Path, by: signal.Signals) -> None:
    logdir = tmp_path / "later"
    process = start("serve", logdir, "--port", "0")
    root, token, text = read_address(process)
    assert "does not exist yet" in text
    assert runs(root, token) == []
    with DumpWriter(logdir, run="live") as writer:
        writer.log("x:0", np.ones(3), step=0)
    until(lambda: runs(root, token) == ["live"], "the run", 10)
    with pytest.raises(urllib.error.HTTPError, match="401"):
        runs(root, "wrong")
    seconds, out, err = end(process, by)
    assert seconds < 3
    assert process.returncode == 0
    assert out + err == "", "nothing is logged, least of all the token"
    assert text.count(token) == 1


def test_ctrl_c_pressed_twice_is_one(start: Start, tmp_path: Path) -> None:
    process = start("serve", tmp_path, "--port", "0")
    read_address(process)
    process.send_signal(signal.SIGINT)
    _, out, err = end(process)
    assert (process.returncode, out, err) == (0, "", "")


def test_several_directories_without_a_token(start: Start, tmp_path: Path) -> None:
    for name in ("a", "b"):
        with DumpWriter(tmp_path / name, run=f"run-{name}") as writer:
            writer.log("x:0", np.ones(3), step=0)
    process = start("serve", tmp_path / "a", tmp_path / "b", "--port", "0", "--no-token")
    root, token, _ = read_address(process)
    assert token == ""
    assert sorted(name.rpartition("/")[2] for name in runs(root, "")) == ["run-a", "run-b"]
    end(process)


def test_the_token_from_the_environment(
    start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TENSORTAP_TOKEN", "mine")
    process = start("serve", tmp_path, "--port", "0")
    root, token, _ = read_address(process)
    assert token == "mine"
    assert runs(root, "mine") == []
    end(process)


def test_a_taken_port(start: Start, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        process = start("serve", tmp_path, "--port", str(port))
        out, err = process.communicate(timeout=60)
    assert process.returncode == 1
    assert f"Cannot listen on 127.0.0.1:{port}" in err
    assert "--port" in err
    assert out == ""


def test_no_token_on_the_network_is_refused(start: Start, tmp_path: Path) -> None:
    process = start("serve", tmp_path, "--host", "0.0.0.0", "--no-token", "--port", "0")
    _, err = process.communicate(timeout=60)
    assert process.returncode == 1
    assert "anyone who can reach" in err


def test_what_a_killed_server_left_is_removed_by_the_next_one(
    start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """GIVEN a server with a temporary folder, and another process that has one WHEN the server is killed
    THEN the next one, which makes none itself, removes its folder, and not the other."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    killed = start("serve", tmp_path / "logs", "--port", "0", "--allow-replay")
    read_address(killed)
    [left] = tmp_path.glob(f".tensortap-*-{killed.pid}-*")
    end(killed, signal.SIGKILL)
    assert left.is_dir()
    with scratch_folder(tmp_path, "tensortap") as kept:
        next_one = start("serve", tmp_path / "logs", "--port", "0")
        read_address(next_one)
        until(lambda: not left.exists(), "its end")
        end(next_one)
        # Python tries a temporary folder with a file of any name, so that only ours are counted.
        assert list(tmp_path.glob(".tensortap-*")) == [kept]


def test_the_browser_gets_the_token_by_a_private_file(
    start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BROWSER", "/bin/true")
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    process = start("serve", tmp_path / "logs", "--port", "0", "--open")
    root, token, _ = read_address(process)
    until(lambda: any(file.read_text() for file in tmp_path.glob(".tensortap-*/page.html")), "the file")
    [file] = tmp_path.glob(".tensortap-*/page.html")
    assert file.parent.stat().st_mode & 0o077 == 0
    assert f"{root}?token={token}" in file.read_text()
    end(process)
    assert not file.exists()


def test_runs_are_compacted_as_they_grow(start: Start, tmp_path: Path) -> None:
    process = start("serve", tmp_path, "--port", "0", "--compact")
    read_address(process)
    with DumpWriter(tmp_path, run="live") as writer:
        writer.log("x:0", np.ones(3), step=0)
        writer.flush()
        until(lambda: (tmp_path / "live/compact/manifest.json").exists(), "compacted statistics", 60)
    end(process)
    assert process.returncode == 0


def test_what_cannot_be_compacted_is_refused(start: Start) -> None:
    process = start("serve", "s3://bucket/logs", "--port", "0", "--compact")
    _, err = process.communicate(timeout=60)
    assert process.returncode == 1
    assert "--compact cannot write to" in err
