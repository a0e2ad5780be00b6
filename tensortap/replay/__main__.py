"""The process that replays: `python -m tensortap.replay`, requests on stdin, answers on stdout.

Before the answer to a `Request` there may be lines `{"progress": text}`.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from collections.abc import Callable
from typing import Any, BinaryIO

from .sandbox import leave_network, limit_memory


def main() -> int:
    """Returns the exit status; what went wrong is in the answers."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what libraries print is no answer
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    confined = False
    for line in sys.stdin:
        record = json.loads(line)
        if not confined:
            leave_network()
            _start_tensorflow()
            limit_memory(int(record["memory_bytes"]))
            confined = True
        _write(answers, _answer(record, lambda text: _write(answers, {"progress": text})))
    return 0


def _start_tensorflow() -> None:
    """Imports it, and makes its threads: what that takes is not the recording's."""
    import tensorflow as tf

    from . import engine  # noqa: F401
    from .stepper import computed_run  # noqa: F401

    tf.zeros(())


def _write(answers: BinaryIO, record: dict[str, Any]) -> None:
    answers.write(json.dumps(record).encode() + b"\n")
    answers.flush()


def _answer(record: dict[str, Any], told: Callable[[str], None]) -> dict[str, Any]:
    from tensortap.core.errors import TensortapError

    from .engine import replay
    from .protocol import Request, StepperRequest
    from .stepper.computed_run import compute_run

    try:
        if "stepper" in record:
            return {"answer": compute_run(StepperRequest.of(record["stepper"]))}
        return {"answer": replay(Request(**record["request"]), told)}
    except TensortapError as error:
        return {"error": error.message, "hint": error.hint}
    except MemoryError:  # this process is of no use any more
        raise
    except Exception as error:
        traceback.print_exc()
        why = next(iter(str(error).splitlines()), "")
        return {
            "error": f"The replay failed: {type(error).__name__}: {why[:300]}",
            "hint": "If the recording was not edited, this is a bug of tensortap: please report it.",
        }


if __name__ == "__main__":
    sys.exit(main())
