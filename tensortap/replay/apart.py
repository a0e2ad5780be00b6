"""Starts the replaying process, with limits, and reads what it answers."""

from __future__ import annotations

import contextlib
import json
import subprocess
import tempfile
import threading
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from tensortap.core.errors import TensortapError
from tensortap.system.child_process import own_module, start_process

from .request import Answer, Request
from .told import Told, silent


def replaying_command() -> list[str]:
    """Starts the process that replays."""
    return own_module("replay")


class ReplayError(TensortapError):
    """The replay did not end in an answer. The message says what happened."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What a replay may take: seconds of time, and bytes of memory beyond TensorFlow's own (on Linux)."""

    seconds: float = 600.0
    memory_bytes: int = 16 << 30


def run_apart(request: Request, limits: Limits = Limits(), told: Told = silent) -> Answer:
    """Replays in a process of its own, which says meanwhile what it is at.

    Raises:
        ReplayError: it took too long or too much memory, or the recording cannot be replayed.
    """
    command = replaying_command()
    message = json.dumps({"request": asdict(request), "memory_bytes": limits.memory_bytes})
    told("TensorFlow is starting")
    with (
        tempfile.TemporaryFile("w+", errors="replace") as errors,
        start_process(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True
        ) as process,
    ):
        last, late = _last_line(process, message, limits.seconds, told)
        status = process.wait()
        errors.seek(0)
        if late:
            raise ReplayError(f"The replay took more than {limits.seconds:g} s.", "Allow more: --seconds.")
        return _answer(status, last, errors.read())


def _last_line(process: subprocess.Popen[str], message: str, seconds: float, told: Told) -> tuple[str, bool]:
    """What it answers, empty if it ended without; and whether it was ended because it took too long."""
    assert process.stdin is not None and process.stdout is not None
    late = threading.Event()

    def end() -> None:
        late.set()
        process.kill()

    watchdog = threading.Timer(seconds, end)
    watchdog.daemon = True
    watchdog.start()
    try:
        with contextlib.suppress(BrokenPipeError):  # it ended; why is on its stderr
            process.stdin.write(message)
            process.stdin.close()
        last = listen(process.stdout, told)
        process.wait()
        return last, late.is_set()
    except BaseException:  # whoever asked has gone
        process.kill()
        raise
    finally:
        watchdog.cancel()


def listen(lines: Iterable[str], told: Told) -> str:
    """Passes on what is in progress; returns the last line that is something else."""
    last = ""
    for line in lines:
        with contextlib.suppress(ValueError):
            record = json.loads(line)
            if isinstance(record, dict) and "progress" in record:
                told(str(record["progress"]))
            else:
                last = line
    return last


def _answer(status: int, line: str, err: str) -> Answer:
    if line:
        with contextlib.suppress(ValueError):
            return Answer.of(record_of(line))
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
