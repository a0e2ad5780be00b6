"""The processes that replay: what they import, and whose question they answer."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tensortap.replay import client
from tensortap.replay.__main__ import _answer
from tensortap.replay.client import ReplayProcess, replaying_command

ECHOING = """
import json, sys
for line in sys.stdin:
    print(json.dumps({"answer": json.loads(line)["number"]}), flush=True)
"""


def test_nothing_is_imported_from_the_folder_that_a_replay_is_started_in(tmp_path: Path) -> None:
    (tmp_path / "ml_dtypes.py").write_text("open('planted', 'w').close()")
    (tmp_path / "json.py").write_text("open('planted', 'w').close()")
    request = {"request": {"source": "nothing.tapbundle"}, "memory_bytes": 8 << 30}
    done = subprocess.run(
        replaying_command(),
        input=json.dumps(request),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert "error" in json.loads(done.stdout.splitlines()[-1]), done.stderr
    assert not (tmp_path / "planted").exists()


LIMITED = """
from tensortap.replay.sandbox import limit_memory
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


def test_an_interrupted_question_is_not_answered_to_the_next_one(monkeypatch: pytest.MonkeyPatch) -> None:
    exchange = client._exchange

    def interrupted(process: Any, request: dict[str, object]) -> str:
        process.stdin.write(json.dumps(request) + "\n")
        process.stdin.flush()
        raise KeyboardInterrupt

    monkeypatch.setattr(client, "replaying_command", lambda: [sys.executable, "-c", ECHOING])
    with ReplayProcess() as asked:
        assert asked._answer({"number": 1}) == 1
        first = asked._process
        monkeypatch.setattr(client, "_exchange", interrupted)
        with pytest.raises(KeyboardInterrupt):
            asked._answer({"number": 2})
        monkeypatch.setattr(client, "_exchange", exchange)
        assert asked._answer({"number": 3}) == 3
        assert first is not None and first.returncode is not None


def test_a_replay_that_fails_unexpectedly_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise KeyError("nobody:z:0")

    monkeypatch.setattr("tensortap.replay.engine.replay", fail)
    answer = _answer({"request": {"source": "step.tapbundle"}}, lambda text: None)
    assert answer["error"] == "The replay failed: KeyError: 'nobody:z:0'"
    assert "bug" in answer["hint"]
