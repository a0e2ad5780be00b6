"""Compacts the runs of log directories repeatedly, as they grow: `tensortap serve --compact`.

One process of low priority does the work. Nothing here raises: a run that cannot be compacted is reported
once, and tried again later.
"""

from __future__ import annotations

import contextlib
import logging
import os
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tensortap.core.errors import DamagedError, TensortapError
from tensortap.core.names import is_worker_name
from tensortap.core.text import escaped
from tensortap.dump.read.runs import find_runs
from tensortap.scale.local import LocalEngine
from tensortap.scale.task import task_name
from tensortap.storage.filesystem import scan
from tensortap.system.subprocess_worker import Cancellation, ChildEndedError, ChildFailedError, ChildPool

from .compactor import compact_run

POLL_INTERVAL = 5.0  # s between two checks of the sizes of files
COOLDOWN_SECONDS = 30.0  # s that a run rests after it was compacted, at least
_SHARE = 20.0  # times the duration of the work, so that compaction takes at most a twentieth of a core
_RETRY = 600.0  # s after a failure
_IDLE = 120.0  # s after which the process ends that has nothing to do
_LOWEST = 19  # of Unix priorities
_CLOSE_TIMEOUT = 2.0  # s

_LOG = logging.getLogger(__name__)


class BackgroundCompaction:
    """Compacts runs in a thread and a low-priority process, until `close`.

    Args:
        logdirs: on disks; they may not exist yet.
    """

    def __init__(self, logdirs: Sequence[Path]) -> None:
        self._logdirs = list(logdirs)
        self._pool = ChildPool("scale.task", idle=_IDLE)
        self._cancellation = Cancellation()
        self._closed = threading.Event()
        self._done: dict[Path, int] = {}  # bytes of statistics that a run had when it was compacted
        self._rests: dict[Path, float] = {}  # until when, monotonic
        self._thread = threading.Thread(target=self._run, name="tensortap-compact", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stops; what is published is complete."""
        self._closed.set()
        self._cancellation.cancel()
        self._thread.join(_CLOSE_TIMEOUT)
        self._pool.close()

    def _run(self) -> None:
        while True:
            for logdir in self._logdirs:
                for name, run_dir in self._find_runs(logdir):
                    if self._closed.is_set():
                        return
                    self._look(name, run_dir)
            if self._closed.wait(POLL_INTERVAL):
                return

    def _find_runs(self, logdir: Path) -> list[tuple[str, Path]]:
        with contextlib.suppress(OSError, TensortapError):
            return find_runs(logdir) if logdir.is_dir() else []
        return []

    def _look(self, name: str, run_dir: Path) -> None:
        """Compacts a run if it grew, and rested long enough."""
        size = _statistics_size(run_dir)
        if self._done.get(run_dir, 0) == size or time.monotonic() < self._rests.get(run_dir, 0.0):
            return
        begun = time.monotonic()
        try:
            request = {
                "task": task_name(compact_at_low_priority),
                "argument": {"run": str(run_dir.absolute())},
            }
            self._pool.ask(request, cancellation=self._cancellation)
        except (TensortapError, ChildEndedError, ChildFailedError, OSError) as error:
            if not self._closed.is_set():
                text = f"{name} was not compacted; the next try is in {_RETRY / 60:.0f} minutes: {error}"
                _LOG.warning(escaped(text))
                self._rests[run_dir] = time.monotonic() + _RETRY
            return
        self._done[run_dir] = size
        took = time.monotonic() - begun
        self._rests[run_dir] = time.monotonic() + max(COOLDOWN_SECONDS, _SHARE * took)


def compact_at_low_priority(argument: dict[str, Any]) -> dict[str, Any]:
    """A task for a separate process: compacts `run` at low priority."""
    if hasattr(os, "nice"):
        os.nice(_LOWEST)  # beyond the lowest it stays there
    with LocalEngine(1) as engine:
        return {"added": compact_run(Path(argument["run"]), engine).added}


def _statistics_size(run_dir: Path) -> int:
    """Bytes of a run's statistics files."""
    size = 0
    with contextlib.suppress(OSError, DamagedError):  # it is just being moved or removed
        for folder in scan(run_dir):
            if folder.is_folder and is_worker_name(folder.name):
                entries = scan(run_dir / folder.name)
                size += sum(entry.size for entry in entries if entry.name.startswith("stats-"))
    return size
