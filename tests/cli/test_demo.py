"""`tensortap demo`, trained for real and looked at while it trains."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from polling import until

from tensortap.analysis.overview import problems
from tensortap.cli.commands import demo
from tensortap.index.logdir_index import LogIndex

Start = Callable[..., subprocess.Popen[str]]
Run = Callable[..., tuple[int, str, str]]


def ask(root: str, token: str) -> dict[str, Any]:
    request = urllib.request.Request(root + "api/runs", headers={"Authorization": f"Bearer {token}"})
    with urllib.request.urlopen(request, timeout=20) as answer:
        return {run["name"]: run for run in json.load(answer)["runs"]}


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("demo")


def test_the_page_is_live_while_the_demo_trains(start: Start, trained: Path) -> None:
    process = start("demo", "--steps", "40", "--logdir", trained, "--port", "0", "--no-open")
    assert process.stdout is not None
    lines = iter(process.stdout.readline, "")
    address = next(line for line in lines if "token=" in line)
    found = re.search(r"(http://\S+/)\?token=(\w+)", address)
    assert found
    root, token = found.groups()
    until(lambda: ask(root, token).get("digits", {}).get("snapshots", 0) > 0, "the first snapshots", 120)
    assert next(line for line in lines if "step 40 of 40" in line)
    assert next(line for line in lines if "Ctrl-C" in line)
    runs = ask(root, token)
    assert runs["digits"]["nonfinite"] == 0
    assert runs["digits"]["steps"] == {"first": 0, "last": 30, "count": 4}
    assert runs["digits-nan"]["nonfinite"] > 0
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 0
    assert err == ""


def test_the_broken_run_breaks_where_the_loss_takes_the_logarithm_of_zero(trained: Path) -> None:
    log = LogIndex(trained)
    log.refresh()
    [run] = [run for run in log.runs if run.name == "digits-nan"]
    first = problems(run).nonfinite[0]
    assert first.op_type == "Log"
    assert 5 < first.first_step < 30


@pytest.mark.nightly
def test_a_second_demo_leaves_the_first_runs_alone(start: Start, trained: Path) -> None:
    process = start("demo", "--broken", "--no-serve", "--logdir", trained)
    out, _ = process.communicate(timeout=300)
    assert process.returncode == 0
    assert "digits-nan-2: step 30 of 30, loss nan" in out
    assert "tensortap serve" in out
    assert sorted(path.name for path in trained.iterdir()) == ["digits", "digits-nan", "digits-nan-2"]


def test_what_is_not_installed_is_named(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        demo.importlib.util, "find_spec", lambda name: None if name == "sklearn" else object()
    )
    status, out, err = run("demo", "--logdir", tmp_path)
    assert status == 1
    assert err == 'tensortap: The demo needs sklearn.\nInstall it: pip install "tensortap[demo]"\n'
    assert not out
