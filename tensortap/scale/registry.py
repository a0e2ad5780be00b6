"""Opens the engine that a command names."""

from __future__ import annotations

import os

from tensortap.core.errors import InvalidValueError
from tensortap.system.host_memory import available_bytes

from .engine import Engine
from .local import LocalEngine

PROCESS_BYTES = 2 << 30  # of memory that the work of one process may take


def open_engine(name: str = "", processes: int | None = None) -> Engine:
    """The engine of a name: empty or `local`: processes of this machine; `dask`: a Dask cluster that is
    started on this machine; `dask://host:port`: the cluster of that scheduler.

    Args:
        processes: of this machine; by default as many as `default_processes` says. Not of `dask://host:port`.

    Raises:
        InvalidValueError: the engine does not exist.
        TensortapError: Dask is not installed, or no scheduler answers there.
    """
    if processes is not None and processes < 1:
        raise InvalidValueError(f"{processes} is not a valid number of processes.", "Use 1 or more.")
    if name in ("", "local"):
        return LocalEngine(processes or default_processes())
    if name == "dask" or name.startswith("dask://"):
        from .dask_cluster import DaskEngine

        return DaskEngine(name.removeprefix("dask").removeprefix("://"), processes or default_processes())
    raise InvalidValueError(f"There is no engine {name!r:.80}.", "Use local, dask or dask://host:port.")


def default_processes() -> int:
    """One per core that this process may use, limited by the available memory."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    memory = available_bytes()
    return cores if memory is None else max(1, min(cores, memory // PROCESS_BYTES))
