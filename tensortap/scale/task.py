"""Run one task: a function of the package that takes and returns JSON. Large results are files, or the bytes
`data` of its answer.

As a program (`python -m tensortap.scale.task`) it answers requests of `LocalEngine`.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from tensortap.core.errors import TensortapError
from tensortap.system.pandas_guard import hide_pandas
from tensortap.system.subprocess_worker import SendProgress, serve

Record = dict[str, Any]  # JSON, and in an answer the bytes `data`
Task = Callable[[Record], Record]


def task_name(task: Task) -> str:
    """Name by which `run_task` finds a function of the package: `module:function`."""
    return f"{task.__module__}:{task.__qualname__}"


def run_task(name: str, argument: Record) -> Record:
    """Run a task; returns its answer.

    Raises:
        TensortapError: the task failed, or `name` is not a function of the package.
    """
    module, _, function = name.partition(":")
    if not module.startswith("tensortap.") or not function.isidentifier():
        raise TensortapError(f"{name!r} is not a task of tensortap.")
    try:
        answer: Record = getattr(import_module(module), function)(argument)
    except OSError as error:  # a full disk, for instance
        where = f": {error.filename}" if error.filename else ""
        raise TensortapError(f"{error.strerror or error}{where}.") from error
    return answer


def _handle(request: dict[str, Any], progress: SendProgress) -> tuple[Any, bytes]:
    answer = run_task(request["task"], request["argument"])
    return answer, answer.pop("data", b"")


if __name__ == "__main__":
    hide_pandas()
    serve(_handle)
