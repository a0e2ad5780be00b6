"""Replay in a separate process with limits. Imports no TensorFlow; only that process does."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from tensortap.core.errors import TensortapError
from tensortap.core.progress import Advance, Notice, ignore_advance, ignore_notice
from tensortap.system.subprocess_worker import Cancellation, ChildEndedError, ChildPool

from .protocol import Answer, Request, StepperAnswer, StepperRequest


class ReplayError(TensortapError):
    """The replay returned no answer. The message says what happened."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of a replay: seconds of time, and bytes of memory beyond TensorFlow's own (on Linux)."""

    seconds: float = 600.0
    memory_bytes: int = 16 << 30


class ReplayProcess:
    """Starts with the first request, and again after a cancelled or timed-out one.

    A context manager. It answers one request at a time; other threads wait.

    Args:
        idle: seconds without a request after which the process is ended; None: never.
    """

    def __init__(self, limits: Limits | None = None, idle: float | None = None) -> None:
        self._limits = limits or Limits()
        memory = str(self._limits.memory_bytes)
        self._pool = ChildPool("replay", memory, idle=idle, capture_errors=True)

    def compute(
        self,
        request: StepperRequest,
        cancellation: Cancellation | None = None,
        advance: Advance = ignore_advance,
    ) -> StepperAnswer:
        """Computes tensors of one what-if.

        Raises:
            ReplayError: it took too long or too much memory, was cancelled, or the recording cannot be
                replayed that way.
        """
        answer = self._ask({"stepper": asdict(request)}, lambda state: advance(*state), cancellation)
        return StepperAnswer.of(answer)

    def replay(
        self,
        request: Request,
        progress: Notice = ignore_notice,
        cancellation: Cancellation | None = None,
    ) -> Answer:
        """Replays a call. Raises ReplayError as `compute` does."""
        return Answer.of(self._ask({"replay": asdict(request)}, progress, cancellation))

    def close(self) -> None:
        """Ends the process."""
        self._pool.close()

    def _ask(
        self, request: Mapping[str, Any], progress: Callable[[Any], object], cancellation: Cancellation | None
    ) -> Mapping[str, Any]:
        seconds = self._limits.seconds
        try:
            answer, _ = self._pool.ask(request, progress=progress, seconds=seconds, cancellation=cancellation)
        except ChildEndedError as ended:
            if cancellation is not None and cancellation.cancelled:
                raise ReplayError("The replay was cancelled.") from ended
            if ended.late:
                raise ReplayError(
                    f"The replay took more than {seconds:g} s.",
                    "Raise the limit: --seconds (serve: --replay-seconds).",
                ) from ended
            raise ReplayError(
                f"The replay process ended with {ended.status}: {ended.last_line or 'no output'}",
                "It may need more memory: --memory (serve: --replay-memory).",
            ) from ended
        except TensortapError as error:
            raise ReplayError(error.message, error.hint) from error
        found: Mapping[str, Any] = answer
        return found

    def __enter__(self) -> ReplayProcess:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


def run_replay(request: Request, limits: Limits = Limits(), progress: Notice = ignore_notice) -> Answer:
    """Replays once, in a process that ends then.

    Raises:
        ReplayError: it took too long or too much memory, or the recording cannot be replayed.
    """
    progress("starting TensorFlow")
    with ReplayProcess(limits) as process:
        return process.replay(request, progress)
