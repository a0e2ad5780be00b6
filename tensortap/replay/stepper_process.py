"""A replaying process that stays for further requests, as a stepper asks many; ended when it is closed."""

from __future__ import annotations

import json
import subprocess
import threading
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from tensortap.system.child_process import start_process

from .apart import Limits, ReplayError, record_of, replaying_command
from .request import Answer, Request
from .stepper_request import StepperAnswer, StepperRequest


class StepperProcess:
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
                _close(process)
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
            _close(process)

    def _start(self) -> subprocess.Popen[str]:
        with self._lock:
            self._why = ""
            if self._process is not None and self._process.poll() is not None:
                _close(self._process)
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

    def __enter__(self) -> StepperProcess:
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


def _close(process: subprocess.Popen[str]) -> None:
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            try:
                stream.close()
            except OSError:  # what it was asked last was not read
                continue
