"""A real TensorBoard process."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from polling import until
from small_dump import write_dump
from tensorboard_process import Start, TensorBoard


@pytest.fixture(scope="session")
def start_tensorboard(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Start]:
    """`start_tensorboard(logdir, *more arguments, prefix="")`; all are ended with the session."""
    processes: list[subprocess.Popen[bytes]] = []

    def start(logdir: Path, *arguments: str, prefix: str = "") -> TensorBoard:
        log = tmp_path_factory.mktemp("tensorboard") / "log.txt"
        flags = ["--logdir", str(logdir), "--port", "0", "--path_prefix", prefix, *arguments]
        with log.open("wb") as out:
            processes.append(
                subprocess.Popen(
                    [sys.executable, "-m", "tensorboard.main", *flags], stdout=out, stderr=subprocess.STDOUT
                )
            )
        until(
            lambda: "http://" in log.read_text() or processes[-1].poll() is not None,
            "TensorBoard's address",
            90,
        )
        address = next((word for word in log.read_text().split() if word.startswith("http://")), "")
        assert address, log.read_text()
        return TensorBoard(address.rstrip("/").removesuffix(prefix) + prefix, log)

    yield start
    for process in processes:
        process.terminate()
        process.wait(timeout=20)


@pytest.fixture(scope="session")
def logdir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("logs")
    write_dump(found)
    return found
