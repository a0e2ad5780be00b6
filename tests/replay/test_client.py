"""The process that replays: what it imports, and whose question it answers."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tensortap.core.errors import TensortapError
from tensortap.replay.__main__ import answer
from tensortap.replay.client import Limits, ReplayError, run_replay
from tensortap.replay.protocol import Request
from tensortap.system.subprocess_worker import ChildProcess


def test_nothing_is_imported_from_the_folder_that_a_replay_is_started_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "ml_dtypes.py").write_text("open('planted', 'w').close()")
    (tmp_path / "json.py").write_text("open('planted', 'w').close()")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ReplayError, match=r"nothing\.tapbundle"):
        run_replay(Request("nothing.tapbundle"), Limits(120.0, 8 << 30))
    assert not (tmp_path / "planted").exists()


LIMITED = """
from tensortap.system.sandbox import limit_memory
held = bytearray(300 << 20)
limit_memory(100 << 20)
more = bytearray(50 << 20)
try:
    bytearray(200 << 20)
except MemoryError:
    print("ended", len(held) + len(more))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the system does not tell what a process holds")
def test_memory_is_limited_beyond_what_is_held_at_the_start() -> None:
    done = subprocess.run([sys.executable, "-c", LIMITED], capture_output=True, text=True, timeout=60)
    assert done.stdout == f"ended {350 << 20}\n", done.stderr


def test_a_process_that_ends_without_an_answer_says_how(monkeypatch: pytest.MonkeyPatch) -> None:
    send = ChildProcess.send

    def send_and_die(worker: ChildProcess, request: Any) -> None:
        send(worker, request)
        os.kill(worker.pid, 9)

    monkeypatch.setattr(ChildProcess, "send", send_and_die)
    with pytest.raises(ReplayError, match=r"ended with -9.*--memory"):
        run_replay(Request("nothing.tapbundle"))


def test_a_replay_that_fails_unexpectedly_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise KeyError("nobody:z:0")

    monkeypatch.setattr("tensortap.replay.replayer.replay", fail)
    with pytest.raises(TensortapError, match=r"The replay failed: KeyError: 'nobody:z:0' .*bug"):
        answer({"replay": {"source": "step.tapbundle"}}, lambda text: None)
