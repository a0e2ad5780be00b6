"""Runs and their workers: found below a log directory, described by small JSON files."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa

from tensortap.core.errors import DamagedError, DeniedError, NotARunError
from tensortap.core.names import GRAPHS, MAX_RUN_DEPTH, is_inside_run, is_worker_name
from tensortap.core.records import Graph
from tensortap.storage.entry import Entry
from tensortap.storage.filesystem import is_folder, prefetch, scan, stat_path
from tensortap.storage.links import trust
from tensortap.storage.uri import is_remote

from ..format.graphs import count_nodes, is_graph_id, read_graph, read_graph_table
from ..format.layout import COMPACT, COMPACT_MANIFEST, RECORDINGS, stats_path
from ..format.run_files import (
    OTHER_RUN,
    RUN_FILE,
    STARTED,
    UNKNOWN_TIME,
    WORKER_FILE,
    RunInfo,
    WorkerInfo,
    read_run_info,
    read_worker,
)
from ..format.schema import VERSION
from .stats_reader import StatsTail

_LOST_AND_FOUND = "lost+found"  # at the root of each disk, readable only by root
Unread = Callable[[Path, OSError | DamagedError], object]


def find_runs(logdir: str | Path, unread: Unread = lambda folder, error: None) -> list[tuple[str, Path]]:
    """(run name, directory) of all runs at most four folders below `logdir`, by name; links are not followed.

    A directory without `run.json` is one, too, if a worker wrote into it.
    If `logdir` is a run itself, it is the only one, under its folder's name.

    `unread` is called with each folder, but a `lost+found`, that cannot be read: it is unknown which
    runs it holds. Its error is a DamagedError for an archive that cannot be used.
    """
    root = Path(logdir)
    trust(root)

    def report(folder: Path, error: OSError | DamagedError) -> None:
        if folder.name != _LOST_AND_FOUND:
            unread(folder, error)

    is_run, folders = _look(root, report)
    if is_run:
        return [(root.resolve().name, root)]
    found = _search(folders, MAX_RUN_DEPTH, report)
    return sorted((path.relative_to(root).as_posix(), path) for path in found)


def prefetch_run(run_dir: Path) -> None:
    """Requests what opening a run at an address needs, in as few rounds as possible; does nothing for other
    runs."""
    if not is_remote(run_dir):
        return
    with suppress(OSError, DamagedError):
        names = [entry.name for entry in scan(run_dir) if entry.is_folder]
        workers = [run_dir / name for name in names if is_worker_name(name)]
        folders = [run_dir / name for name in (GRAPHS, COMPACT) if name in names]
        prefetch([*folders, *workers], [run_dir / RUN_FILE])
        inside = [path / name for path in folders for name in _opening_files(scan(path))]
        prefetch((), [*inside, *(path / WORKER_FILE for path in workers)])


def _opening_files(entries: Sequence[Entry]) -> list[str]:
    """The files of graphs or of `compact/` that are read when a run is opened; of joined tables only the
    last, because the others are left over."""
    joined = [entry for entry in entries if entry.name.endswith(".bin")]
    last = sorted(joined, key=lambda entry: entry.mtime_ns)[-1:]
    names = [
        entry.name for entry in entries if entry.name == COMPACT_MANIFEST or entry.name.endswith(".arrows")
    ]
    return names + [entry.name for entry in last]


def _search(folders: list[Path], depth: int, unread: Unread) -> Iterator[Path]:
    folders = [path for path in folders if not (path.name.startswith(".") or is_inside_run(path.name))]
    prefetch(folders)
    for path in folders:
        is_run, inside = _look(path, unread)
        if is_run:
            yield path
        if depth > 1:
            yield from _search(inside, depth - 1, unread)


def _look(path: Path, unread: Unread) -> tuple[bool, list[Path]]:
    """(whether a folder is a run, its sub-folders) from a single listing, because a page requests this every
    second."""
    try:
        entries = scan(path)
    except (FileNotFoundError, NotADirectoryError):
        return False, []
    except DamagedError as error:  # of an archive
        unread(path, error)
        return False, []
    except OSError as error:  # another user's folder; its files may be readable
        unread(path, error)
        return _is_file(path / RUN_FILE), []
    folders = [path / entry.name for entry in entries if entry.is_folder]
    described = any(entry.name == RUN_FILE and entry.is_file for entry in entries)
    return described or _holds_statistics(folders), folders


def _holds_statistics(folders: list[Path]) -> bool:
    """Whether one of a folder's sub-folders was written by a worker, or by `tensortap compact`: then it is a
    run, without a `run.json` too."""
    for folder in folders:
        if is_worker_name(folder.name):
            files = [folder / WORKER_FILE, stats_path(folder, 0)]
        elif folder.name == COMPACT:
            files = [folder / COMPACT_MANIFEST]
        else:
            continue
        if any(map(_is_file, files)):
            return True
    return False


def _by_age(worker: WorkerInfo) -> tuple[datetime, str]:
    return worker.started, worker.worker


def _is_file(path: Path) -> bool:
    try:
        return stat_path(path).is_file
    except (OSError, DamagedError):
        return False


def _folders(folder: Path) -> list[Path]:
    """Sub-folders that are not links; empty if the folder does not exist. Raises OSError."""
    try:
        return [folder / entry.name for entry in scan(folder) if entry.is_folder]
    except (FileNotFoundError, NotADirectoryError, DamagedError):
        return []


def _damage_of_run_file(error: NotARunError) -> str:
    cause = error.__cause__
    if cause is None:
        return f"{RUN_FILE} does not describe a tensortap run."
    if isinstance(cause, DeniedError):
        return str(cause)
    return cause.message if isinstance(cause, DamagedError) else f"{RUN_FILE} is missing."


class RunReader:
    """Reads one run. Keeps no file open; every call reads the files again.

    If `run.json` is damaged or missing, `info` reports it, and is built from the workers' files. A copy of
    `compact/` alone is complete without it.

    Raises:
        NotARunError, FormatVersionError, RemoteReadError: from the constructor, as `read_run_info`. OSError:
            its folder cannot be read.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        trust(self.path, unless_within=True)
        try:
            self._info = read_run_info(self.path)
        except NotARunError as error:
            if not _holds_statistics(_folders(self.path)):
                raise
            damage = _damage_of_run_file(error)
            if isinstance(error.__cause__, FileNotFoundError) and not self._worker_names():
                damage = ""  # a copy of compact/ alone, as the docs describe it
            self._info = self._info_from_workers(damage, error)
        else:
            found = (read_worker(self.path, name).run_id for name in self._worker_names())
            ids = filter(None, found)  # one is read, unless it is of another run
            if (first := next(ids, self._info.id)) != self._info.id and self._info.id not in ids:
                self._info = replace(self._info_from_workers(OTHER_RUN), id=first)

    def _info_from_workers(self, damage: str, error: NotARunError | None = None) -> RunInfo:
        workers = sorted((read_worker(self.path, name) for name in self._worker_names()), key=_by_age)
        known = [worker.started for worker in workers if worker.started > UNKNOWN_TIME]
        return RunInfo(
            self.path.resolve().name,
            min(known, default=UNKNOWN_TIME),
            workers[0].info if workers else {},
            VERSION,
            damage,
            error is not None and isinstance(error.__cause__, DeniedError),
            next((worker.run_id for worker in workers if worker.run_id), ""),
        )

    def info(self) -> RunInfo:
        """Facts of the run."""
        return self._info

    def workers(self) -> list[WorkerInfo]:
        """The run's workers, in the order they started. Raises OSError."""
        return sorted(map(self.worker, self._worker_names()), key=_by_age)

    def worker(self, name: str) -> WorkerInfo:
        """One of them."""
        found = read_worker(self.path, name)
        if found.run_id in ("", self._info.id):
            return found
        return replace(found, damage=f"{name}: {WORKER_FILE} belongs to another run. Copy the run again.")

    def missing_folders(self) -> dict[str, str]:
        """Folders of workers that were removed, unless `compact/` replaces them all, and links in place of a
        folder, with a sentence each; one for all if graphs are all that is left of the workers.

        Raises OSError.
        """
        entries = scan(self.path)
        names = {entry.name for entry in entries}
        links = {
            entry.name: f"{entry.name} is not a folder. Links are not followed without --follow-links."
            for entry in entries
            if not entry.is_folder
            if entry.name in (COMPACT, GRAPHS, RECORDINGS) or is_worker_name(entry.name)
        }
        if not any(map(is_worker_name, names)) and _is_file(self.path / COMPACT / COMPACT_MANIFEST):
            return links
        marked = sorted(name.removesuffix(STARTED) for name in names if name.endswith(STARTED))
        if not marked and not any(map(is_worker_name, names)) and self.graph_ids():
            links[GRAPHS] = "The folders of all workers are missing. Copy the run again."
        return links | {
            name: f"{name}: its folder is missing. Copy it again, or remove {name + STARTED}, too."
            for name in marked
            if name not in names and is_worker_name(name) and not is_folder(self.path / name)
        }

    def _worker_names(self) -> list[str]:
        return [folder.name for folder in _folders(self.path) if is_worker_name(folder.name)]

    def graph_ids(self) -> list[str]:
        """Ids of its graphs, sorted. Raises OSError: they are there, and cannot be listed."""
        folder = self.path / GRAPHS
        try:
            names = (
                [entry.name for entry in scan(folder) if entry.is_file] if stat_path(folder).is_folder else []
            )
        except (FileNotFoundError, NotADirectoryError):
            return []
        stems = [name.removesuffix(".arrows") for name in names if name.endswith(".arrows")]
        return sorted(stem for stem in stems if is_graph_id(stem))

    def graph(self, graph_id: str) -> Graph:
        """One graph. Raises NotFoundError, DamagedError."""
        return read_graph(self.path, graph_id)

    def graph_table(self, graph_id: str) -> tuple[pa.RecordBatch, dict[str, Any]]:
        """One graph's (nodes, metadata), cheaper than `graph`. Raises NotFoundError, DamagedError."""
        return read_graph_table(self.path, graph_id)

    def graph_size(self, graph_id: str) -> int:
        """How many nodes one graph has, cheaper than both. Raises NotFoundError, DamagedError."""
        return count_nodes(self.path, graph_id)

    def tail(self, worker: str) -> StatsTail:
        """A reader of that worker's commits, from the first on."""
        return StatsTail(self.path, worker)
