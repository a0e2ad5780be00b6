"""The outputs that the documents show are those that the commands print."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import compare_programs
import nan_steps
import pytest
from documents import CHECKOUT, blocks
from sample_outputs import missing_lines, samples

from tensortap.__main__ import main

pytestmark = pytest.mark.slow


def printed(command: str, capsys: pytest.CaptureFixture[str]) -> str:
    capsys.readouterr()
    main(command.split())
    return capsys.readouterr().out


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")


def test_the_nan_of_the_demo(capsys: pytest.CaptureFixture[str]) -> None:
    environment = {**os.environ, "PYTHONPATH": str(CHECKOUT), "CUDA_VISIBLE_DEVICES": ""}
    train = [sys.executable, "-m", "tensortap", "demo", "--broken", "--no-serve"]
    subprocess.run(train, env=environment, check=True, capture_output=True)
    ((command, shown),) = samples("problems.md").items()
    assert missing_lines(shown, printed(command, capsys)) == []


def test_the_difference_of_two_runs(capsys: pytest.CaptureFixture[str]) -> None:
    compare_programs.train(Path("logs"), "first")
    compare_programs.train(Path("logs"), "injected", activation=compare_programs.leaky)
    ((command, shown),) = samples("diff.md").items()
    assert missing_lines(shown, printed(command, capsys)) == []


def test_the_repair_of_a_step(capsys: pytest.CaptureFixture[str]) -> None:
    nan_steps.record(Path("night"), nan_steps.log_of_softmax)
    (shown,) = (block.text for block in blocks("replay.md") if block.text.startswith("not finite after"))
    program = Path(nan_steps.__file__).name
    assert missing_lines(shown.replace("train.py", program), printed("replay night --repair", capsys)) == []
