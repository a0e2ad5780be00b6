"""One run, live: follows its workers, catalogs its snapshots, and reads its graphs."""

from __future__ import annotations

import logging
import threading
import time
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from tensortap.core.dtypes import Array
from tensortap.core.errors import DamagedError, DeniedError, NotFoundError, TensortapError
from tensortap.core.names import GRAPHS, is_worker_name
from tensortap.core.progress import Advance
from tensortap.core.text import counted
from tensortap.dump.format.layout import COMPACT
from tensortap.dump.format.run_files import WorkerInfo
from tensortap.dump.read.runs import RunReader, prefetch_run
from tensortap.dump.read.stats_reader import TailPosition
from tensortap.dump.recording.recording_files import RecordingNote, RecordingPlace, RunRecordings
from tensortap.storage.filesystem import exists, stat_path
from tensortap.system.user_dirs import cache_folder

from .cache.container import ContainerError
from .cache.saved_run import SavedRun
from .catalog.catalog import Catalog
from .catalog.commit_cache import CommitCache
from .catalog.step_totals import StepTable
from .compacted_run import CompactedRun
from .engine_reading import EngineReading
from .graph.graph_index import GraphIndex
from .graph_store import GraphCache, GraphOverview
from .missing_values import source_format
from .run_events import RunEvents
from .run_overview import RunOverview, overview_of
from .unknown_counts import unreported_counts
from .worker_follower import WorkerFollower, WorkerStatus

_LOG = logging.getLogger(__name__)

_POLL_INTERVAL = 0.02  # s between two checks whether rows are read
_MOST_LOST = 100  # values that are noted as damaged
SETTLE_SECONDS = 2.0  # the coarsest timestamps of common file systems (FAT)


class RunReplacedError(Exception):
    """The run's directory was replaced; it must be read again."""


class LogCaches:
    """Caches that the runs of a log share: recently read commits, how many nodes recorded graphs have (by
    id), and the folder of saved indices, if there is one. `reading`: the engine that reads runs of which no
    index was saved; None: this process does."""

    def __init__(self, cache: Path | None = None) -> None:
        self.commits = CommitCache()
        self.graph_nodes: dict[str, int] = {}
        self.cache = cache
        self.reading: EngineReading | None = None


def open_run(path: Path, name: str, run_id: str, generation: int = 0) -> RunIndex:
    """One run by its folder, with the name and id that another process gave it; nothing is read before the
    first `poll`."""
    return RunIndex(run_id, name, path, LogCaches(cache_folder()), generation)


class RunIndex:
    """Derived lookup over one run. One thread polls, any number read.

    Attributes:
        id, name, path: opaque id, path below the log directory, directory.
        error: why the run cannot be read, a sentence, or None.
        events: its events.
        version: grows with every change. generation: grows when the directory is replaced by another one.
    """

    def __init__(self, run_id: str, name: str, path: Path, shared: LogCaches, generation: int = 0) -> None:
        self.id, self.name, self.path = run_id, name, path
        self._shared = shared
        self.generation = generation
        self.version = 0
        self.error: str | None = None
        self.created = 0.0
        self.info: dict[str, Any] = {}
        self.described = True  # by a run.json that could be read
        self._info_damage: list[str] = []
        self._recordings = RunRecordings(path)
        self._info_denied = False  # it is unreadable
        self._missing_folders: dict[str, str] = {}  # sentences by folder
        self._lost: dict[tuple[object, ...], str] = {}  # damaged values, and why
        self._lost_at = 0  # `catalog.prunings` when they were read
        self._saved = None if shared.cache is None else SavedRun(shared.cache, path)
        self.catalog = Catalog(path, histograms=self._saved is not None)
        self.events = RunEvents(path)
        self._positions: dict[str, TailPosition] = {}  # where the saved index ends
        self._compacted: CompactedRun | None = None  # where the statistics files are not here
        self._reader: RunReader | None = None
        self._graph_cache: GraphCache | None = None
        self._followers: dict[str, WorkerFollower] = {}
        self._here: dict[str, WorkerFollower] = {}  # those whose folders are here: `compact/` may be all
        self._settled: tuple[int, ...] | None = None
        self._broken = False
        self._overview: tuple[tuple[int, int], RunOverview] | None = None
        self._missing_data: tuple[tuple[object, ...], list[str]] | None = None
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return f"<run {self.name!r}: {self.error or counted(self.catalog.rows, 'snapshot')}>"

    def poll(self) -> bool:
        """Reads on, at most some 90,000 snapshots a worker; returns whether there is more to read now.

        Raises:
            RunReplacedError: a worker's folder was removed after it was read.
        """
        with self._lock:
            with suppress(TensortapError, OSError):  # reported by what reads more of it
                self.version += self._recordings.look()
            if self._broken or self._is_settled():
                return False
            before, touched = self._state(), self._touched()
            try:
                more = self._poll()
                self.error = None
            except RunReplacedError:
                raise
            except (TensortapError, OSError) as error:
                more = False
                self.error = self._sentence(error)
            except Exception as error:  # the other runs must stay readable
                _LOG.exception("the run %r cannot be read", self.name)
                more = False
                self._broken = True  # its columns may have grown unevenly
                self.error = f"The run cannot be read: {type(error).__name__}."
            self.version += self._state() != before
            if not more:
                self._settle(touched)
            return more

    def _sentence(self, error: TensortapError | OSError) -> str:
        """Reword an error without the path that the run has on this machine: others read it too."""
        if isinstance(error, PermissionError):
            return str(DeniedError(self.name))
        text = error.message if isinstance(error, TensortapError) else f"{self.name}: {error.strerror}"
        return text.replace(str(self.path), self.name)

    def _touched(self) -> tuple[int, ...]:
        """When files or folders were last added where a run that all its workers have closed can change,
        ns."""
        workers = (self.path / name for name in self._here)
        folders = [self.path, self.path / GRAPHS, *workers]
        if self._compacted is not None:
            folders += [self.path / COMPACT, *self._compacted.damaged_files]
        return tuple(map(_added, folders))

    def _settle(self, touched: tuple[int, ...]) -> None:
        """Marks the run as unchanged, unless something was added a moment ago: the next addition may get the
        same timestamp."""
        closed = self.error is None and all(worker.closed for worker in self.workers)
        self._settled = touched if closed and time.time() - max(touched) / 1e9 > SETTLE_SECONDS else None

    def _is_settled(self) -> bool:
        """False if files are unreadable, because new permissions do not change the folder."""
        return self._settled is not None and not self.denied and self._settled == self._touched()

    def _state(self) -> tuple[object, ...]:
        """Differs whenever any answer may differ: statuses include the numbers of snapshots."""
        return (
            *(self.error, self.created, self.workers, self.recorded_graphs, *self.denied),
            *self._missing_folders.values(),
            *(self.events.version, self.catalog.prunings, len(self._lost)),
        )

    def note_lost(self, key: tuple[object, ...], sentence: str) -> None:
        """Notes that a stored value turned out to be damaged: it is part of `damage` from now on.

        Args:
            key: names the snapshot.
        """
        if self._lost_at != self.catalog.prunings:  # values pruned meanwhile are not damaged
            self._lost, self._lost_at = {}, self.catalog.prunings
        if key not in self._lost and len(self._lost) < _MOST_LOST:
            self._lost[key] = sentence
            self.version += 1

    def _poll(self) -> bool:
        if self._reader is None:
            self._open()
        elif self._info_denied:
            self._describe(RunReader(self.path))
        assert self._reader is not None and self._graph_cache is not None
        was_open = bool(self._followers)
        self._find_workers(self._reader)
        self._graph_cache.poll()
        if self.is_counted and not was_open:
            return True  # what is known can be shown before the rows are read
        reading = self._shared.reading
        if reading is not None and not (self.catalog.rows or self._compacted or reading.only_compacted):
            self._read_by_engine(reading)
        if self._compacted is not None and self._read_compacted(self._compacted):
            return True
        more = [follower.poll() for follower in self._here.values()]
        more.append(self.events.poll(self._here))
        if self._graph_cache.missing:  # it may have been written since
            self._graph_cache.poll()
        for name, follower in self._here.items():
            follower.count_events(self.events.count(name))
        self._save(any(more))
        for follower in self._here.values():
            follower.look()
        return any(more)

    def _open(self) -> None:
        prefetch_run(self.path)
        reader = RunReader(self.path)
        self._compacted = CompactedRun.find(self.path)
        self._begin(reader)
        self._reader = reader

    def _begin(self, reader: RunReader) -> None:
        """Begins with what is saved, or compacted."""
        self.catalog = Catalog(self.path, histograms=self._saved is not None and self._compacted is None)
        if self._compacted is None:
            self._load()
        else:
            self._saved = None  # its rows have a separate cache
            self._compacted.open(self.catalog, self._shared.cache)
        self._describe(reader)
        self._graph_cache = GraphCache(reader, self.catalog, self._shared.graph_nodes)

    def _describe(self, reader: RunReader) -> None:
        """Reads `run.json`."""
        info = reader.info()
        self.created, self.info, self.described = info.created.timestamp(), info.info, info.described
        self._info_damage = [info.damage.replace(str(self.path), self.name)] if info.damage else []
        self._info_denied = info.denied
        if self._compacted is not None:
            self._info_damage += self._compacted.damage_of(info)
        if self._compacted is not None and not self.described:
            known = [worker.started.timestamp() for worker in self._compacted.worker_infos()]
            self.created = min(known, default=self.created)
        self.catalog.unreported_counts, self.catalog.source = (
            unreported_counts(self.info),
            source_format(self.info),
        )

    def _load(self) -> None:
        """Takes over the saved index, if it fits the dump."""
        if self._saved is None:
            return
        try:
            self._positions = self._saved.load(self.catalog)
        except ContainerError as error:
            _LOG.debug("%s is read from its dump: %s", self.name, error)
            self.catalog = Catalog(self.path, histograms=True)

    def _read_by_engine(self, reading: EngineReading) -> None:
        """Fills the catalog, in which nothing is yet. Raises TensortapError: a task failed."""
        workers = [follower.info for follower in self._followers.values()]
        for positions in reading.read_workers(self.path, workers, self.catalog):
            for worker, position in positions.items():
                self._followers[worker].resume(position)
            self._save(True)

    def _read_compacted(self, compacted: CompactedRun) -> bool:
        """Reads on in compacted statistics; returns whether there were some.

        Raises:
            RunReplacedError: it was compacted again. TensortapError: a task failed.
        """
        if not compacted.is_current():
            raise RunReplacedError(self.name)
        reading = self._shared.reading
        more = compacted.read_on(
            None if reading is None else partial(reading.read_parts, self.path, compacted)
        )
        if compacted.is_stale:  # without the parts that are damaged
            self.generation += 1
            self._positions, self._followers, self._here = {}, {}, {}
            assert self._reader is not None
            self._begin(self._reader)
            return True
        return more

    def _save(self, more: bool) -> None:
        """Saves the index if it is due."""
        if self._saved is None:
            return
        if self.catalog.parts.damaged:
            self._saved.discard()
        elif not self._saved.is_due(self.catalog, more) or self._saved.save(
            self.catalog, {name: f.position for name, f in self._followers.items()}
        ):
            return
        self._saved = None
        self.catalog.drop_histograms()

    def _find_workers(self, reader: RunReader) -> None:
        known = [] if self._compacted is None else self._compacted.worker_infos()
        here = reader.workers()
        self._missing_folders = reader.missing_folders()
        found = {info.worker: info for info in [*known, *here]}
        workers = dict(sorted(found.items(), key=lambda each: (each[1].started, each[0])))
        if not self._followers.keys() <= workers.keys():
            raise RunReplacedError(self.name)
        new = [info for name, info in workers.items() if name not in self._followers]
        followers = dict(self._followers)
        for name, follower in followers.items():
            follower.info = workers[name]
        followers |= {info.worker: self._follow(reader, info) for info in new}
        # replaced, not changed, for concurrent iteration
        self._followers = {name: followers[name] for name in workers}
        self._here = {info.worker: followers[info.worker] for info in here}

    def _follow(self, reader: RunReader, info: WorkerInfo) -> WorkerFollower:
        follower = WorkerFollower(reader, info, self.catalog)
        position = self._positions.get(info.worker)
        if self._compacted is not None and info.worker in self._compacted.workers:
            follower.resume_compacted(self._compacted.workers[info.worker])
        elif position is not None:
            follower.resume(position)
        return follower

    @property
    def is_counted(self) -> bool:
        """Whether it is compacted and open: only its rows may have to be read."""
        return self._compacted is not None and self.catalog.rows > 0

    def unread_rows_of(self, tensors: Array) -> dict[str, Array] | None:
        """See `CompactedRun.unread_rows_of`; None if the run is not compacted."""
        return None if self._compacted is None else self._compacted.unread_rows_of(tensors, self.catalog)

    def drop_caches(self) -> None:
        """Drops what is only held to answer the next question faster."""
        if self._compacted is not None:
            self._compacted.drop_histograms()

    def wait_for_rows(self, advance: Advance) -> None:
        """Returns when no other thread reads the rows of a compacted run: who needs all of them would read
        them a second time. `advance` may raise to stop waiting."""
        while self._compacted is not None and self._compacted.is_reading:
            advance(*self.progress(), "reading")
            time.sleep(_POLL_INTERVAL)

    def progress(self) -> tuple[int, int]:
        """Bytes of statistics that were read, and that there are."""
        found = [follower.progress() for follower in list(self._here.values())]
        found += [] if self._compacted is None else [self._compacted.progress()]
        return sum(done for done, _ in found), sum(size for _, size in found)

    @property
    def commits(self) -> CommitCache:
        """Recently read commits."""
        return self._shared.commits

    @property
    def workers(self) -> list[WorkerStatus]:
        """The workers, in the order they started."""
        return [follower.status() for follower in self._followers.values()]

    @property
    def steps(self) -> StepTable:
        """Totals by step, ascending."""
        with self.catalog.lock:
            return self.catalog.steps.table()

    def steps_of(self, graph_id: str) -> StepTable:
        """Totals of one graph's snapshots per step, ascending; no rows if it was not captured.

        Raises:
            NotFoundError: neither was it recorded, nor do snapshots name it.
        """
        with self.catalog.lock:
            self._readable().require(graph_id)
            return self.catalog.graph_steps.of(self.catalog.tensors.graph_code(graph_id)).table()

    @property
    def tensors(self) -> list[str]:
        """Names of the captured tensors, ascending."""
        return self.catalog.tensors.sorted_names()

    @property
    def recorded_graphs(self) -> list[str]:
        """Ids of the graphs in the dump."""
        return [] if self._graph_cache is None else list(self._graph_cache.recorded)

    @property
    def node_count(self) -> int:
        """Number of nodes of its graphs."""
        with self.catalog.lock:
            return 0 if self._graph_cache is None else self._graph_cache.nodes()

    @property
    def graph_count(self) -> int:
        """Number of graphs, recorded ones and those that snapshots name."""
        return 0 if self._graph_cache is None else len(self._graph_cache.ids())

    @property
    def graphs(self) -> list[GraphOverview]:
        """Summaries of the graphs, most snapshots first; `-` for snapshots without a graph."""
        if self._graph_cache is None:
            return []
        with self.catalog.lock:
            return self._graph_cache.overviews()

    def graph(self, graph_id: str) -> GraphIndex:
        """A graph by its id.

        Raises:
            NotFoundError: neither was it recorded, nor do snapshots name it.
        """
        with self.catalog.lock:
            return self._readable().get(graph_id)

    def _readable(self) -> GraphCache:
        if self._graph_cache is None:
            raise NotFoundError(
                f"The run {self.name!r} cannot be read.", self.error or "It has not been read yet."
            )
        return self._graph_cache

    @property
    def damage(self) -> list[str]:
        """Sentences about unreadable data; of graphs and values after their first use."""
        graphs = (
            [] if self._graph_cache is None else [*self._graph_cache.damage.values(), *self._lost_graphs()]
        )
        workers = [sentence for worker in self.workers for sentence in worker.damage]
        denied = [] if self._graph_cache is None else self._graph_cache.denied
        compacted = [] if self._compacted is None else self._compacted.damage
        lost = list(self._lost.values()) if self._lost_at == self.catalog.prunings else []
        found = self._info_damage + denied + compacted + [*self._missing_folders.values()] + workers
        return found + graphs + self.events.damage + lost + self._recordings.damage

    def recordings(self) -> list[tuple[RecordingPlace, RecordingNote]]:
        """The recordings of the run, and their notes. A readable note is read once."""
        return self._recordings.notes()

    @property
    def lossy_workers(self) -> set[str]:
        """Workers of which snapshots may be lost."""
        return {
            *filter(is_worker_name, self._missing_folders),
            *(worker.id for worker in self.workers if worker.damage),
        }

    @property
    def unfinished(self) -> list[str]:
        """Sentences about the ends of the files of stopped workers: not written to their end, or damaged."""
        stopped = [worker for worker in self.workers if not (worker.live or worker.closed)]
        found = [f"{worker.id}: {worker.pending}" for worker in stopped if worker.pending]
        return found + self.events.unfinished([worker.id for worker in stopped])

    @property
    def missing_data(self) -> list[str]:
        """`damage` and `unfinished`; built again after changes, because each response names it."""
        revision = self.revision
        known = self._missing_data
        if known is None or known[0] != revision:
            known = self._missing_data = revision, [*self.damage, *self.unfinished]
        return known[1]

    @property
    def revision(self) -> tuple[object, ...]:
        """Differs whenever any answer may: after polls, and after requests that found damage."""
        found = self._info_damage + self._recordings.damage
        if self._graph_cache is not None:
            found += [*self._graph_cache.damage.values(), *self._graph_cache.denied]
        if self._compacted is not None:
            found += self._compacted.damage
        return self.generation, self.version, self.catalog.rows, self.events.version, *found

    @property
    def dropped(self) -> int:
        """Number of snapshots and recordings that the workers report as lost."""
        return sum(worker.dropped for worker in self.workers)

    def _lost_graphs(self) -> list[str]:
        """Sentences about missing graphs that snapshots name. Compacted statistics may be copied without the
        folder of graphs."""
        if self._graph_cache is None or (self._compacted is not None and not exists(self.path / GRAPHS)):
            return []
        return self._graph_cache.missing

    @property
    def denied(self) -> list[str]:
        """Sentences of `damage` about files that this user has no permission to read."""
        workers = [sentence for follower in self._followers.values() for sentence in follower.denied]
        info = self._info_damage if self._info_denied else []
        graphs = [] if self._graph_cache is None else self._graph_cache.denied
        return info + workers + graphs + self.events.denied

    @property
    def live(self) -> bool:
        """Whether a worker has not closed and wrote within the last minute (5 s if this host has no process
        of its number any more), as of the last poll."""
        return any(worker.live for worker in self.workers)

    def captured_slots(self, graph_id: str, node: str) -> dict[int, tuple[int, int]]:
        """Captured output slots of a node -> (snapshots, snapshots with a stored value)."""
        tensors = self.catalog.tensors
        codes = tensors.of_node(graph_id, node)
        return {tensors.node_and_slot(c)[1]: (tensors.snapshots.of(c), tensors.kept.of(c)) for c in codes}

    def overview(self) -> RunOverview:
        """The summary of the run; recomputed only after changes, because every open page requests it
        repeatedly."""
        state = self.version, self.catalog.rows
        known = self._overview
        if known is None or known[0] != state:
            known = self._overview = state, overview_of(self)
        return known[1]


def _added(folder: Path) -> int:
    """Time of the last change of a folder's entries, ns; 0 if the folder is missing."""
    try:
        return stat_path(folder).mtime_ns
    except (OSError, DamagedError):
        return 0
