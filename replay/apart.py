"""Starts the replaying process, with limits, and reads what it answers."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from tensortap.dump import TensortapError

from .request import Answer, Request


class ReplayError(TensortapError):
    """The replay did not end in an answer. The message says what happened."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What a replay may take: seconds of time, and bytes of memory beyond TensorFlow's own."""

    seconds: float = 600.0
    memory_bytes: int = 16 << 30


def run_apart(request: Request, limits: Limits = Limits()) -> Answer:
    """Replays in a process of its own.

    Raises:
        ReplayError: it took too long or too much memory, or the recording cannot be replayed.
    """
    command = [sys.executable, "-m", "tensortap.replay"]
    message = json.dumps({"request": asdict(request), "memory_bytes": limits.memory_bytes})
    try:
        done = subprocess.run(
            command, input=message, capture_output=True, text=True, timeout=limits.seconds, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise ReplayError(
            f"The replay took more than {limits.seconds:g} s.", "Allow more: --seconds."
        ) from error
    return _answer(done.returncode, done.stdout, done.stderr)


def _answer(status: int, out: str, err: str) -> Answer:
    lines: Sequence[str] = out.strip().splitlines()
    if lines:
        with contextlib.suppress(ValueError):
            return Answer.of(record_of(lines[-1]))
    last = (err.strip().splitlines() or ["no output"])[-1]
    raise ReplayError(
        f"The replaying process ended with {status}: {last[:300]}",
        "It may have needed more memory: --memory.",
    )


def record_of(line: str) -> Mapping[str, Any]:
    """What a line of the process answers.

    Raises:
        ReplayError: it says what went wrong. ValueError: it is no answer.
    """
    record = json.loads(line)
    if "error" in record:
        raise ReplayError(str(record["error"]), str(record.get("hint", "")))
    if "answer" not in record:
        raise ValueError(line[:100])
    found: Mapping[str, Any] = record["answer"]
    return found
