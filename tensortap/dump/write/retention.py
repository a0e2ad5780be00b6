"""Retention: old values go first, summaries stay (FORMAT.md, "Pruned values").

A values file is removed as a whole, and leaves a mark: an empty file `values-NNNNNN.pruned`.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tensortap.core.errors import InvalidValueError
from tensortap.storage.entry import Entry
from tensortap.storage.files import create
from tensortap.storage.filesystem import exists
from tensortap.system.locks import is_locked

from ..format.layout import Shard, mark_path, shards_of, values_path
from ..format.run_files import CLOSED_FILE, read_worker
from .values_writer import MAX_SHARD

_SMALL_SHARD = 4 << 20  # bytes of a shard where steps are counted: few steps share one
_LEAST_SHARD = 1 << 20  # bytes; less would be mostly the header that each shard reserves
_SHARES = 8  # shards that `max_bytes` is divided into
_IDLE = 600.0  # s after which an unsealed shard without a known owner counts as abandoned


@dataclass(frozen=True, slots=True)
class Retention:
    """How many values to keep: those of the last `keep_last` steps, and at most `max_bytes` of files in the
    run.

    Raises:
        InvalidValueError: one of them is not a positive integer.
    """

    keep_last: int | None = None
    max_bytes: int | None = None

    def __post_init__(self) -> None:
        for name in ("keep_last", "max_bytes"):
            value = getattr(self, name)
            if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
                raise InvalidValueError(f"{name}={value!r} is not valid.", "Use a positive integer.")

    @property
    def everything(self) -> bool:
        """Whether nothing is ever removed."""
        return self.keep_last is None and self.max_bytes is None

    @property
    def shard_bytes(self) -> int | None:
        """The size of a shard, which is removed as a whole: small enough to stay close to the limits.

        None where there are none.
        """
        if self.everything:
            return None
        sizes = [MAX_SHARD]
        if self.keep_last is not None:
            sizes.append(_SMALL_SHARD)
        if self.max_bytes is not None:
            sizes.append(max(self.max_bytes // _SHARES, _LEAST_SHARD))
        return min(sizes)


class WorkerRetention:
    """Retention of one writing process: it looks after its own steps, and the bytes of the whole run."""

    def __init__(self, worker_dir: Path, retention: Retention) -> None:
        self._dir, self._retention = worker_dir, retention
        self._steps: dict[int, set[int]] = {}  # by shard number
        self._recent: dict[int, None] = {}  # steps in the order in which they came last
        self._newest = self._done = -1  # shards: the last one, and the one at the last successful `apply`

    def note(self, number: int, entry: str) -> bool:
        """A value was stored in a shard; the entry's name ends in `@<step>#<seq>`. Returns whether the shard
        is new, so that the previous one is complete."""
        step = int(entry.rpartition("@")[2].partition("#")[0])
        is_new, self._newest = number > self._newest, max(number, self._newest)
        self._steps.setdefault(number, set()).add(step)
        self._recent.pop(step, None)  # a step that comes again is a late one
        self._recent[step] = None
        if len(self._recent) > (self._retention.keep_last or 1):
            del self._recent[next(iter(self._recent))]
        return is_new

    def apply(self, *, closing: bool = False) -> None:
        """Removes values beyond the limits, after each completed shard and after the last one.

        The newest shard stays. A failure is tried again later.
        """
        newest = self._newest
        if self._retention.everything or newest < 0 or (newest <= self._done and not closing):
            return
        with contextlib.suppress(OSError):
            shards = shards_of(self._dir.parent)
            mine = self._dir.name
            steps = {(mine, number): steps for number, steps in self._steps.items()}
            protected = open_shards(self._dir.parent, shards) | {(mine, newest)}
            for shard in choose(self._retention, shards, steps, list(self._recent), protected):
                discard(self._dir.parent, shard)
                if shard[0] == mine:
                    self._steps.pop(shard[1], None)
            self._done = newest


def choose(
    retention: Retention,
    shards: Mapping[Shard, Entry],
    steps: Mapping[Shard, set[int]],
    recent: list[int],
    protected: set[Shard],
    *,
    by_step: bool = False,
) -> list[Shard]:
    """Which shards to remove, oldest first.

    Args:
        shards: what there is. steps: the steps of those that are known. recent: steps, the latest last.
        protected: those that always stay.
        by_step: the oldest are those with the lowest last step, and before them what holds no step; else
            those that were written to the longest ago, which a copy of a run does not tell.
    """
    last = {shard: max(steps.get(shard, ()), default=-1) if by_step else 0 for shard in shards}
    oldest_first = sorted(shards, key=lambda shard: (last[shard], shards[shard].mtime_ns, shard))
    chosen = []
    if retention.keep_last is not None:
        kept = set(recent[-retention.keep_last :])
        chosen = [s for s in oldest_first if s in steps and not steps[s] & kept and s not in protected]
    if retention.max_bytes is not None:
        total = sum(entry.size for shard, entry in shards.items() if shard not in chosen)
        for shard in oldest_first:
            if total > retention.max_bytes and shard not in chosen and shard not in protected:
                chosen.append(shard)
                total -= shards[shard].size
    return chosen


def discard(run_dir: Path, shard: Shard) -> None:
    """Removes a values file; its mark is there first. Raises OSError."""
    path = values_path(run_dir / shard[0], shard[1])
    with contextlib.suppress(FileExistsError):
        os.close(create(mark_path(path)))
    with contextlib.suppress(FileNotFoundError):  # another worker was quicker
        path.unlink()


def open_shards(run_dir: Path, shards: Mapping[Shard, Entry]) -> set[Shard]:
    """Shards that a process is writing."""
    return {shard for shard, entry in shards.items() if _is_open(run_dir, shard, entry)}


def _is_open(run_dir: Path, shard: Shard, entry: Entry) -> bool:
    """Whether a shard is not sealed (its first 8 bytes are zero), and its worker not closed, but there.

    Of a process on another machine that is unknown; it counts as alive if it wrote a short while ago.
    """
    worker_dir = run_dir / shard[0]
    try:
        with values_path(worker_dir, shard[1]).open("rb") as file:
            if file.read(8) != bytes(8) or exists(worker_dir / CLOSED_FILE):
                return False
            held = is_locked(file)
    except FileNotFoundError:
        return False
    if held:
        return True
    if held is False and read_worker(run_dir, shard[0]).is_gone:
        return False
    return time.time() - entry.mtime_ns / 1e9 < _IDLE
