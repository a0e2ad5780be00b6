"""Runs of real models and programs, healthy and broken, trained once in one process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from analysis_runs import Get
from shared_folder import shared_folder

from tensortap.index.logdir_index import LogIndex

SUPPORT = Path(__file__).resolve().parents[1] / "support"


@pytest.fixture(scope="session")
def broken_logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log directory with a run for each model of broken_models.py and program of nan_programs.py."""

    def train(folder: Path) -> None:
        command = [sys.executable, str(SUPPORT / "broken_models.py"), str(folder)]
        environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": ""}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr[-3000:]

    return shared_folder(tmp_path_factory, "broken", train)


@pytest.fixture(scope="session")
def run_named(broken_logs: Path) -> Get:
    """`run_named("dead_relu")` -> the run."""
    log = LogIndex(broken_logs)
    log.refresh()
    runs = {run.name: run for run in log.runs}
    return runs.__getitem__
