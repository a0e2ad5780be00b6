"""The process that replays, started by `client.ReplayProcess`: `python -m tensortap.replay MEMORY-BYTES`."""

from __future__ import annotations

import os
import sys
import traceback
from typing import Any

from tensortap.system.sandbox import leave_network, limit_memory
from tensortap.system.subprocess_worker import SendProgress, serve, spaced


def main(memory_bytes: int) -> None:
    """Answers requests: `{"stepper": fields of a StepperRequest}` or `{"replay": fields of a Request}`."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    leave_network()
    _start_tensorflow()
    limit_memory(memory_bytes)
    serve(answer)


def _start_tensorflow() -> None:
    """Imports TensorFlow and starts its threads, before the memory limit of the recording applies."""
    import tensorflow as tf

    from . import replayer  # noqa: F401
    from .stepper import computed_run  # noqa: F401

    tf.zeros(())


def answer(request: dict[str, Any], progress: SendProgress) -> tuple[dict[str, Any], bytes]:
    """The answer to one request, as JSON data. Raises TensortapError."""
    from tensortap.core.errors import TensortapError

    from .protocol import Request, StepperRequest
    from .replayer import replay
    from .stepper.computed_run import compute_run

    try:
        if "stepper" in request:
            return compute_run(StepperRequest.of(request["stepper"]), spaced(progress)), b""
        return replay(Request(**request["replay"]), progress), b""
    except (TensortapError, MemoryError, BrokenPipeError):
        raise
    except Exception as error:
        traceback.print_exc()
        why = next(iter(str(error).splitlines()), "")
        raise TensortapError(
            f"The replay failed: {type(error).__name__}: {why[:300]}",
            "Unless the recording was edited, this is a bug in tensortap: please report it.",
        ) from error


if __name__ == "__main__":
    main(int(sys.argv[1]))
