"""docs/hunts.md is true: its programs end as it says, its commands find what it shows, its remedies help."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hunts import MENDED, PROGRAMS
from sample_outputs import missing_lines, samples

from tensortap.cli.main import dispatch

COMMANDS = samples("hunts.md")


@pytest.fixture(scope="module")
def hunts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the runs of the programs as they are (`found`), and mended."""
    folder = tmp_path_factory.mktemp("hunts")
    script = Path(__file__).parents[1] / "support/hunts.py"
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": ""}
    command = [sys.executable, str(script), str(folder), "--mended"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return folder


def printed(
    command: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> str:
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", "200")
    dispatch(command.split())
    return capsys.readouterr().out


def test_the_document_has_three_hunts() -> None:
    assert PROGRAMS.keys() == MENDED.keys()
    assert len(COMMANDS) == 3


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_finds_what_is_shown(
    command: str, hunts: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert missing_lines(COMMANDS[command], printed(command, hunts / "found", monkeypatch, capsys)) == []


def test_the_remedies_help(
    hunts: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = hunts / "mended"
    assert "no NaN or infinity" in printed("nan logs/reader", folder, monkeypatch, capsys)
    rules = printed("rules logs/cnn", folder, monkeypatch, capsys)
    assert "Dead" not in rules
    assert "high" not in rules
    reported = printed("diff logs/float32 logs/bfloat16", folder, monkeypatch, capsys)
    assert "First divergence: net_1/normalise_1/sub" not in reported
