"""The process that replays: `python -m tensortap.replay`, the request on stdin, the answer on stdout."""

from __future__ import annotations

import json
import os
import sys
from typing import Any

from .confine import confine


def main() -> int:
    """Returns the exit status; what went wrong is in the answer."""
    record = json.loads(sys.stdin.read())
    answers = os.dup(1)
    os.dup2(2, 1)  # what libraries print is no answer
    confine(int(record["memory_bytes"]))
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    from tensortap.dump import TensortapError

    from .engine import replay
    from .request import Request

    answer: dict[str, Any]
    try:
        answer = {"answer": replay(Request(**record["request"]))}
    except TensortapError as error:
        answer = {"error": error.message, "hint": error.hint}
    os.write(answers, json.dumps(answer).encode() + b"\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
