"""The runs below one or several log directories, live."""

from __future__ import annotations

import hashlib
import os
import re
import threading
import time
import uuid
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePath

from tensortap.core.errors import DamagedError, NotFoundError
from tensortap.core.text import did_you_mean
from tensortap.dump.format.run_files import RUN_FILE
from tensortap.dump.read.runs import find_runs
from tensortap.storage.filesystem import stat_path
from tensortap.storage.uri import path_of
from tensortap.system.user_dirs import cache_folder

from .cache.address_cache import AddressCache
from .engine_reading import EngineReading
from .run_index import LogCaches, RunIndex, RunReplacedError
from .run_overview import RunOverview

# Unread statistics that justify a progress bar: about 30,000 snapshots, 0.2 s of reading.
LARGE_BYTES = 4 << 20
READ_AHEAD_SECONDS = 2.0  # that a run which was rewritten is read before it takes the old one's place
MEASURE_SECONDS = 0.5  # between two measurements of how much there is to read

LogDirs = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]
Identity = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Changes:
    """Changes up to `cursor`: the changed runs, None for removed ones."""

    cursor: str
    runs: dict[str, RunOverview | None]


@dataclass(slots=True)
class _Entry:
    run: RunIndex
    identity: Identity | None  # of run.json: another one means another run at the same place
    changed: int  # the log's version when the run last changed


class LogIndex:
    """All runs in the log directories. Nothing is read before the first `refresh`.

    Any number of threads may read while one refreshes.

    Attributes:
        runs_known: whether all runs were found once; before that, an empty list means nothing.
        unread: folders that could not be checked, and why: runs in them are not found. Those that were
            found before stay.

    Args:
        cache: the folder for saved indices, instead of the user's (see `cache_folder`).
        use_cache: whether indices are loaded and saved at all.
    """

    def __init__(self, logdirs: LogDirs, *, cache: Path | None = None, use_cache: bool = True) -> None:
        paths = [logdirs] if isinstance(logdirs, (str, os.PathLike)) else list(logdirs)
        self.logdirs = [path_of(path) for path in paths]
        self._entries: dict[str, _Entry] = {}
        self._gone: dict[str, int] = {}
        self._version = 0
        self._session = uuid.uuid4().hex[:8]
        self._shared = LogCaches(cache or cache_folder() if use_cache else None)
        folder = self._shared.cache
        self._addresses = [] if folder is None else [AddressCache(folder, path) for path in self.logdirs]
        self._generation = 0
        self._refreshing = threading.Lock()
        self._searched = threading.Event()  # once the runs were searched, found or not
        self.runs_known = False
        self._reading: dict[str, tuple[int, int]] = {}
        self._measured: dict[str, float] = {}  # by run: when `reading` was measured, monotonic
        self.unread: dict[Path, OSError | DamagedError] = {}

    @property
    def name(self) -> str:
        """The log directories, for display: their names only, because their paths are private."""
        return ", ".join(self._names)

    @cached_property
    def _names(self) -> list[str]:
        return names_of(self.logdirs)

    def logdir_of(self, run: RunIndex) -> str:
        """The name of the log directory that contains a run."""
        return self._holding(run.path)[0]

    def name_of(self, folder: Path) -> str:
        """Display name of a folder: the name of its log directory and the path below it."""
        name, logdir = self._holding(folder)
        return PurePath(name, *folder.parts[len(logdir.parts) :]).as_posix()

    def _holding(self, folder: Path) -> tuple[str, Path]:
        """(name, path) of the log directory that contains a folder; the folder itself if none does."""
        found = zip(self._names, self.logdirs, strict=True)
        holding = (each for each in found if each[1] == folder or each[1] in folder.parents)
        return next(holding, (folder.name, folder))

    def drop_caches(self) -> None:
        """Drops what is only held to answer the next question faster."""
        self._shared.commits.clear()
        for run in self.runs:
            run.drop_caches()

    @property
    def runs(self) -> list[RunIndex]:
        """All runs, the newest first; those that cannot be read say why in `error`."""
        runs = [entry.run for entry in list(self._entries.values())]
        return sorted(runs, key=lambda run: (-run.created, run.name))

    def run(self, run_id: str) -> RunIndex:
        """A run by its id.

        Raises:
            NotFoundError: there is none.
        """
        entry = self._entries.get(run_id)
        if entry is None:
            hint = did_you_mean(run_id, list(self._entries), "List the runs to see their ids.")
            raise NotFoundError(f"There is no run {run_id[:200]!r}.", hint)
        return entry.run

    @property
    def reading(self) -> dict[str, tuple[int, int]]:
        """Progress of the runs with much left to read, by id: bytes read and bytes available, as of the last
        read part, because a remote address may not answer now."""
        return dict(self._reading)

    @property
    def cursor(self) -> str:
        """Opaque; another one whenever anything changed."""
        return f"{self._session}.{self._version}"

    def changes(self, since: str | None = None) -> Changes:
        """The runs that changed since a cursor; all of them without one, or with one of another session."""
        version = self._version
        session, _, number = (since or "").partition(".")
        known = int(number) if session == self._session and number.isascii() and number.isdigit() else -1
        changed = {run_id: e.run.overview() for run_id, e in list(self._entries.items()) if e.changed > known}
        gone = [run_id for run_id, at in list(self._gone.items()) if known >= 0 and at > known]
        return Changes(f"{self._session}.{version}", {**changed, **dict.fromkeys(gone)})

    def wait_for_runs(self, timeout: float) -> bool:
        """Returns `runs_known`, once a refresh has looked for the runs, or after `timeout` seconds."""
        self._searched.wait(timeout)
        return self.runs_known

    def refresh(
        self, advance: Callable[[RunIndex], object] | None = None, *, reading: EngineReading | None = None
    ) -> bool:
        """Looks for new runs and reads on in all of them; returns whether anything changed.

        `advance` is called with a run whenever a part of it was read and more is left; its errors end the
        refresh, and the next one continues from there.
        `reading`: the engine that reads runs of which nothing was read yet, and no index was saved.
        While another thread refreshes, it returns once the runs are known; data appear as they are read.
        """
        if not self._refreshing.acquire(blocking=False):
            self._searched.wait()
            return False
        try:
            before, self._shared.reading = self._version, reading
            if not self.runs_known:
                for address in self._addresses:
                    address.recall()
            self._find_runs()
            self.runs_known = True
            self._searched.set()
            newest_first = sorted(self._entries.values(), key=_written, reverse=True)  # a page begins with it
            waiting = [entry.run.id for entry in newest_first]
            while waiting:  # in turns, so that a large run does not hide the others
                waiting = [run_id for run_id in waiting if self._read_part(run_id, advance)]
                for address in self._addresses:
                    address.store()
            return self._version != before
        finally:
            self._shared.reading = None
            self._searched.set()
            self._refreshing.release()

    def _find_runs(self) -> None:
        unread: dict[Path, OSError | DamagedError] = {}
        found = [
            (_run_id(number, name), name, path)
            for number, logdir in enumerate(self.logdirs)
            for name, path in find_runs(logdir, unread.__setitem__)
        ]
        self.unread = unread
        for run_id in self._entries.keys() - {run_id for run_id, _, _ in found}:
            path = self._entries[run_id].run.path
            if not unread.keys().isdisjoint((path, *path.parents)):
                continue  # it may still exist: reading on in it will say why
            self._gone[run_id] = self._version + 1
            del self._entries[run_id]
            self._version += 1  # last, because readers of a version must find its data
        for run_id, name, path in found:
            entry = self._entries.get(run_id)
            identity = _identity(path)
            if entry is None or (identity is not None and entry.identity not in (None, identity)):
                self._add(run_id, name, path)
            elif entry.identity is None and identity is not None:
                if entry.run.described:
                    entry.identity = identity
                else:  # its run.json came after the rest, as in a copy
                    self._add(run_id, name, path)

    def _add(self, run_id: str, name: str, path: Path) -> None:
        self._generation += 1
        self._shared.commits.forget(path)  # a run that was replaced, or whose files were pruned, has others
        run = RunIndex(run_id, name, path, self._shared, self._generation)
        if run_id in self._entries:  # which answers until the new one can: nothing may be missing in between
            _read_ahead(run)
            self._shared.commits.forget(path)
        self._entries[run_id] = _Entry(run, _identity(path), self._version + 1)
        self._gone.pop(run_id, None)
        self._version += 1

    def _read_part(self, run_id: str, advance: Callable[[RunIndex], object] | None) -> bool:
        """Returns whether more of the run may be left to read."""
        more = self._poll(run_id)
        self._measure_progress(run_id, more)
        if more and advance is not None:
            advance(self._entries[run_id].run)
        return more

    def _measure_progress(self, run_id: str, more: bool) -> None:
        """Updates the reading progress, at most twice per second, because every part calls it."""
        reading = {known: far for known, far in self._reading.items() if known in self._entries}
        if not more:
            reading.pop(run_id, None)
        elif time.monotonic() - self._measured.get(run_id, float("-inf")) > MEASURE_SECONDS:
            self._measured[run_id] = time.monotonic()
            done, size = self._entries[run_id].run.progress()
            reading.pop(run_id, None)
            if size - done > LARGE_BYTES:
                reading[run_id] = done, size
        self._reading = reading  # replaced, not changed, for concurrent readers

    def _poll(self, run_id: str) -> bool:
        entry = self._entries[run_id]
        before = entry.run.version
        try:
            more = entry.run.poll()
        except RunReplacedError:
            self._add(run_id, entry.run.name, entry.run.path)
            return True
        if entry.run.version != before:
            entry.changed = self._version + 1
            self._version += 1
        return more


def _read_ahead(run: RunIndex) -> None:
    until = time.monotonic() + READ_AHEAD_SECONDS
    with suppress(RunReplacedError):  # again: the next poll reports it, too
        while run.poll() and time.monotonic() < until:
            pass


def _written(entry: _Entry) -> int:
    """When a run began, ns; 0 if that is unknown."""
    return 0 if entry.identity is None else entry.identity[1]


def _run_id(number: int, name: str) -> str:
    """Readable in an address, unique by its hash; the same on every machine."""
    digest = hashlib.blake2b(f"{number}/{name}".encode("utf-8", "surrogateescape"), digest_size=4).hexdigest()
    slug = re.sub(r"[^A-Za-z0-9_.]+", "-", name).strip("-.")[:60]
    return f"{slug}-{digest}" if slug else digest


def _identity(path: Path) -> Identity | None:
    try:
        found = stat_path(path / RUN_FILE)
    except (OSError, DamagedError):
        return None
    return found.inode, found.mtime_ns, found.size


def names_of(logdirs: Sequence[Path]) -> list[str]:
    """A name for each path: its last part, with as many parents as make it unique. No more, because the
    location is private."""
    paths = [logdir.resolve() for logdir in logdirs]
    return [_shortest(path, set(paths) - {path}) for path in paths]


def _shortest(path: Path, others: set[Path]) -> str:
    for length in range(1, len(path.parts)):
        end = path.parts[-length:]
        if all(other.parts[-length:] != end for other in others):
            return PurePath(*end).as_posix()
    return path.as_posix()
