"""Replay in a process of its own, with limits: one request, or many to a process that stays."""

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

from .protocol import Answer, Progress, Request, StepperAnswer, StepperRequest, ignore_progress


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


def run_replay(request: Request, limits: Limits = Limits(), told: Progress = ignore_progress) -> Answer:
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


def _last_line(
    process: subprocess.Popen[str], message: str, seconds: float, told: Progress
) -> tuple[str, bool]:
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


def listen(lines: Iterable[str], told: Progress) -> str:
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


class ReplayProcess:
    """Started by the first request, and anew after one that was cancelled or took too long.

    A context manager. One request at a time; `cancel` may be called from any thread.
    """

    def __init__(self, limits: Limits | None = None) -> None:
        self._limits = limits or Limits()
        self._process: subprocess.Popen[str] | None = None
        self._why = ""  # the process was ended
        self._lock = threading.Lock()

    def ask(self, request: StepperRequest) -> StepperAnswer:
        """Computes tensors.

        Raises:
            ReplayError: it took too long or too much memory, was cancelled, or the recording cannot be
                replayed that way.
        """
        return StepperAnswer.of(self._answer({"stepper": asdict(request)}))

    def study(self, request: Request) -> Answer:
        """Finds out what a study does. Raises ReplayError as `ask` does."""
        return Answer.of(self._answer({"request": asdict(request)}))

    def _answer(self, request: Mapping[str, Any]) -> Mapping[str, Any]:
        process = self._start()
        watchdog = threading.Timer(
            self._limits.seconds, self._end, [f"The replay took more than {self._limits.seconds:g} s."]
        )
        watchdog.daemon = True
        watchdog.start()
        try:
            line = _exchange(process, {**request, "memory_bytes": self._limits.memory_bytes})
        except BaseException:  # an interrupt: what it answers later must not answer the next request
            self.close()
            raise
        finally:
            watchdog.cancel()
        if not line:
            status = process.wait()
            with self._lock:
                _close_pipes(process)
                self._process, why, self._why = None, self._why, ""
            if why:
                hint = "Allow more: --seconds (of serve: --replay-seconds)." if "more than" in why else ""
                raise ReplayError(why, hint)
            raise ReplayError(
                f"The replaying process ended with {status}.",
                "It may have needed more memory: --memory (of serve: --replay-memory).",
            )
        try:
            return record_of(line)
        except ValueError as error:  # it was ended while it wrote
            raise ReplayError("The replaying process was ended while it answered.", "Ask again.") from error

    def cancel(self) -> None:
        """Ends the request that is under way."""
        self._end("The replay was cancelled.")

    def close(self) -> None:
        """Ends the process."""
        self._end("The replay was ended.")
        with self._lock:
            process, self._process = self._process, None
        if process is not None:
            process.wait()
            _close_pipes(process)

    def _start(self) -> subprocess.Popen[str]:
        with self._lock:
            self._why = ""
            if self._process is not None and self._process.poll() is not None:
                _close_pipes(self._process)
                self._process = None
            if self._process is None:
                self._process = start_process(
                    replaying_command(),
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                    text=True,
                )
            return self._process

    def _end(self, why: str) -> None:
        with self._lock:
            if self._process is not None and self._process.poll() is None:
                self._why = why
                self._process.kill()

    def __enter__(self) -> ReplayProcess:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


def _exchange(process: subprocess.Popen[str], request: dict[str, object]) -> str:
    """The line that it answers; empty if it ended. What it says before of its progress is passed over."""
    assert process.stdin is not None and process.stdout is not None
    try:
        process.stdin.write(json.dumps(request) + "\n")
        process.stdin.flush()
    except OSError:
        return ""
    for line in process.stdout:
        if not line.startswith('{"progress"'):
            return line
    return ""


def _close_pipes(process: subprocess.Popen[str]) -> None:
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            try:
                stream.close()
            except OSError:  # what it was asked last was not read
                continue
