"""Open an engine by the name that a command is given."""

from __future__ import annotations

import os

from tensortap.core.errors import InvalidValueError

from .engine import Engine
from .local import LocalEngine


def open_engine(name: str = "", processes: int | None = None) -> Engine:
    """The engine of a name: empty or `local`: processes of this machine; `dask`: a Dask cluster that is
    started on this machine; `dask://host:port`: the cluster of that scheduler.

    Args:
        processes: of this machine; by default one for each usable core. Not of `dask://host:port`.

    Raises:
        InvalidValueError: there is no such engine.
        TensortapError: Dask is not installed, or no scheduler answers there.
    """
    if processes is not None and processes < 1:
        raise InvalidValueError(f"{processes} is not a number of processes.", "Use 1 or more.")
    if name in ("", "local"):
        return LocalEngine(processes or usable_cores())
    if name == "dask" or name.startswith("dask://"):
        from .dask_cluster import DaskEngine

        return DaskEngine(name.removeprefix("dask").removeprefix("://"), processes or usable_cores())
    raise InvalidValueError(f"There is no engine {name!r:.80}.", "Use local, dask or dask://host:port.")


def usable_cores() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
