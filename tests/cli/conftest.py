"""A small dump, and the command line run in this process or in one of its own."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from small_dump import write_dump

from tensortap.__main__ import main


@pytest.fixture(scope="session")
def logdir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("logs")
    write_dump(found)
    return found


Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """`run("ls", path)` -> (exit status, stdout, stderr)."""

    def run_here(*arguments: str | Path) -> tuple[int, str, str]:
        try:
            status = main([str(argument) for argument in arguments])
        except SystemExit as end:
            status = int(end.code or 0)
        out, err = capsys.readouterr()
        return status, out, err

    return run_here


@pytest.fixture
def start() -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """`start("serve", path)` -> a process with its output piped, ended with the test."""
    processes: list[subprocess.Popen[str]] = []

    def start_process(*arguments: str | Path) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "tensortap", *map(str, arguments)]
        processes.append(subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
        return processes[-1]

    yield start_process
    for process in processes:
        with process:  # closes its pipes and waits for it
            process.kill()
