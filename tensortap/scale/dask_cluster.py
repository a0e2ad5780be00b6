"""The engine of a Dask cluster: an existing scheduler, or one started on this machine."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any, Self

from tensortap.core.errors import TensortapError
from tensortap.core.progress import AdvanceCount, ignore_count

from .engine import ATTEMPTS
from .task import Record, Task, run_task, task_name

_CONNECT_SECONDS = 20


class DaskEngine:
    """Runs tasks on the workers of a cluster, which must have the run under the same path.

    Args:
        address: `host:port` of a scheduler; empty: a cluster of `processes` processes of this machine.

    Raises:
        TensortapError: Dask is not installed, or no scheduler answers.
    """

    def __init__(self, address: str, processes: int) -> None:
        try:
            distributed: Any = import_module("distributed")
        except ImportError as error:
            hint = 'Install it with: pip install "tensortap[dask]"'
            raise TensortapError("The engine dask needs Dask, which is not installed.", hint) from error
        self._cluster: Any = None
        if not address:  # any free port: the default is one port, which another cluster may use
            self._cluster = distributed.LocalCluster(
                n_workers=processes, threads_per_worker=1, processes=True, dashboard_address="127.0.0.1:0"
            )
        target = self._cluster or f"tcp://{address}"
        try:
            self._client: Any = distributed.Client(target, timeout=_CONNECT_SECONDS, set_as_default=False)
        except (OSError, TimeoutError, ValueError) as error:
            hint = "Pass a running scheduler, e.g. dask://scheduler:8786."
            raise TensortapError(f"No Dask scheduler answers at {address}.", hint) from error

    def map(
        self, task: Task, arguments: Sequence[Record], advance: AdvanceCount = ignore_count
    ) -> list[Record]:
        """See `Engine.map`."""
        distributed: Any = import_module("distributed")
        name, total = task_name(task), len(arguments)
        advance(0, total)
        futures = self._client.map(_answer, [name] * total, list(arguments), pure=False, retries=ATTEMPTS - 1)
        answers: dict[str, Record] = {}
        try:
            for future in distributed.as_completed(futures, loop=self._client.loop):
                answers[future.key] = _checked(future.result())
                advance(len(answers), total)
        except distributed.KilledWorker as error:
            hint = "There may be too little memory: give each worker 2 GB or more."
            raise TensortapError("A task's process died at every attempt.", hint) from error
        finally:
            self._client.cancel([future for future in futures if not future.done()])
        return [answers[future.key] for future in futures]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self._client.close()
        if self._cluster is not None:
            self._cluster.close()


def _answer(name: str, argument: Record) -> Record:
    """Runs on a worker. Returns errors as sentences, so that Dask does not retry."""
    try:
        return {"answer": run_task(name, argument)}
    except TensortapError as error:
        return {"error": error.message, "hint": error.hint}


def _checked(reply: Record) -> Record:
    if "error" in reply:
        raise TensortapError(str(reply["error"]), str(reply.get("hint", "")))
    answer: Record = reply["answer"]
    return answer
