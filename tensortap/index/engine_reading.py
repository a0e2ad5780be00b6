"""Read the statistics of a run by an engine: tasks decode some workers or parts each, the catalog takes their
rows over.

Of the work that an analysis of a large run is, reading is the most: five times as much as all rules.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from tensortap.core.errors import DamagedError, NotARunError
from tensortap.core.progress import AdvanceCount, ignore_count
from tensortap.dump.format.run_files import WorkerInfo
from tensortap.dump.read.runs import RunReader
from tensortap.dump.read.stats_reader import TailPosition
from tensortap.scale.engine import Engine
from tensortap.scale.local import LocalEngine
from tensortap.storage.filesystem import is_folder, scan
from tensortap.storage.links import follow_links, links_are_followed
from tensortap.storage.uri import address_of, is_remote, path_of, shown_path
from tensortap.system.user_dirs import cache_folder

from .catalog.catalog import Catalog
from .catalog.packed_rows import add_packed, pack_rows, packed, unpacked
from .compacted_rows import CompactedRows
from .compacted_run import CompactedRun

TASK_BYTES = 64 << 20  # of statistics files: some 600,000 snapshots
_TASKS_AT_ONCE = 16  # whose rows are in memory, 80 bytes per snapshot
_POLL = 16 << 20  # decoded bytes at a time
Record = dict[str, Any]


@dataclass(frozen=True, slots=True)
class EngineReading:
    """An engine that reads runs of which no index was saved; `advance` shows how many tasks are done.

    `only_compacted`: it reads only runs of which nothing but `compact/` is here: of the others, an index that
    is saved lacks the histograms.
    """

    engine: Engine
    advance: AdvanceCount = ignore_count
    only_compacted: bool = False

    def read_workers(
        self, run_dir: Path, workers: Sequence[WorkerInfo], catalog: Catalog
    ) -> Iterator[dict[str, TailPosition]]:
        """Fills an empty catalog with what workers committed; yields how far some of them were read, now that
        it has their rows.

        Raises:
            TensortapError: a task failed, or cannot access the run.
        """
        tasks = [{**_where(run_dir), "workers": group} for group in _groups(run_dir, workers)]
        for answer in self._answers(run_dir, read_workers, tasks):
            add_packed(catalog, answer.pop("data", b""))
            yield {worker: TailPosition.of(found) for worker, found in answer["workers"].items()}

    def read_parts(self, run_dir: Path, compacted: CompactedRun, rows: Sequence[CompactedRows]) -> None:
        """Reads rows of a compacted run.

        Raises:
            TensortapError: as of `read_workers`.
        """
        shares_disk = isinstance(self.engine, LocalEngine)
        tasks = [
            {
                **_where(run_dir),
                "checksum": compacted.checksum,
                "damaged": compacted.damaged,
                "group_bytes": compacted.group_bytes,
                "shares_disk": shares_disk,
                "number": compacted.rows.index(each),
                "file": str(path) if shares_disk and (path := each.cache_file()) is not None else "",
            }
            for each in rows
        ]
        for each, answer in zip(rows, self._answers(run_dir, read_parts, tasks), strict=True):
            compacted.note_damage({int(first): text for first, text in answer["damaged"].items()})
            data = answer.pop("data", b"")
            if data:
                each.put(unpacked(data))

    def _answers(
        self, run_dir: Path, task: Callable[[Record], Record], arguments: Sequence[Record]
    ) -> Iterator[Record]:
        engine = self.engine if _is_seen_elsewhere(run_dir) else LocalEngine(1)
        for at in range(0, len(arguments), _TASKS_AT_ONCE):
            some = arguments[at : at + _TASKS_AT_ONCE]
            answers = engine.map(task, some, partial(self._report_progress, at, len(arguments)))
            while answers:
                yield answers.pop(0)

    def _report_progress(self, before: int, total: int, done: int, _: int) -> None:
        self.advance(before + done, total)


def read_workers(argument: Record) -> Record:
    """Task: reads the statistics of some workers to their ends.

    Args:
        argument: `run`, `follow_links`, `workers`: names.

    Returns:
        `workers`: {name: position}, `data`: their rows (`pack_rows`).
    """
    run_dir = _run_dir(argument)
    reader, catalog, positions = RunReader(run_dir), Catalog(run_dir), {}
    for worker in argument["workers"]:
        tail, damage = reader.tail(worker), -1
        while (commits := tail.poll(catalog.read_columns, _POLL)) or len(tail.damage) > damage:
            damage = len(tail.damage)
            catalog.add(worker, commits)
        positions[worker] = asdict(tail.position)
    return {"workers": positions, "data": pack_rows(catalog)}


def read_parts(argument: Record) -> Record:
    """Task: reads some parts of a compacted run.

    Args:
        argument: `run`, `follow_links`; `checksum`: of the manifest; `damaged`: sentences by first step of
            parts to skip; `group_bytes`: see `CompactedRun`; `shares_disk`: whether this process has the
            cache of its parent; `number`: of the rows; `file`: where they are stored, or empty.

    Returns:
        `damaged`: sentences; `data`: the columns, if none of these parts is damaged and they were not stored.

    Raises:
        NotARunError: another manifest is there.
    """
    about = {name: value for name, value in argument.items() if name not in ("number", "file")}
    compacted, data = _opened(json.dumps(about)), b""
    with suppress(DamagedError):
        rows = compacted.rows[argument["number"]]
        if argument["file"]:
            rows.store(Path(argument["file"]))
        else:
            data = packed(rows.decode())
    if len(compacted.damaged) > len(argument["damaged"]):
        _opened.cache_clear()  # the files may be copied again, and this process may live on
    return {"damaged": compacted.damaged, "data": data}


@lru_cache(1)
def _opened(argument: str) -> CompactedRun:
    """The run of a task; most tasks of a process have the same one."""
    asked = json.loads(argument)
    run_dir = _run_dir(asked)
    compacted = CompactedRun.find(run_dir)
    if compacted is None or compacted.checksum != asked["checksum"]:
        raise NotARunError(f"{shown_path(run_dir)} has just been compacted again.", "Try again.")
    compacted.note_damage({int(first): text for first, text in asked["damaged"].items()})
    compacted.group_bytes = asked["group_bytes"]
    # The cache has the small tables by now: each would be two requests to a bucket.
    compacted.open(Catalog(run_dir), cache_folder() if asked["shares_disk"] else None)
    return compacted


def _groups(run_dir: Path, workers: Sequence[WorkerInfo]) -> Iterator[list[str]]:
    """The workers, in order, as many together as a task takes."""
    group: list[str] = []
    size = 0
    for info in workers:
        entries = scan(run_dir / info.worker)
        mine = sum(max(entry.size, 0) for entry in entries if entry.name.startswith("stats-"))
        if group and size + mine > TASK_BYTES:
            yield group
            group, size = [], 0
        group.append(info.worker)
        size += mine
    if group:
        yield group


def _is_seen_elsewhere(run_dir: Path) -> bool:
    """Whether another process finds the run by its path or address."""
    return not is_remote(run_dir) or not any(mark in address_of(run_dir) for mark in ("?", "::"))


def _where(run_dir: Path) -> Record:
    run = str(run_dir.absolute())
    if is_remote(run_dir) and _is_seen_elsewhere(run_dir):
        run = "/".join((address_of(run_dir).rstrip("/"), *run_dir.parts[4:]))
    return {"run": run, "follow_links": links_are_followed()}


def _run_dir(argument: Record) -> Path:
    if argument["follow_links"]:
        follow_links()
    run_dir = path_of(argument["run"])
    if not is_folder(run_dir):
        hint = "All workers of a cluster need the run at the same path, on a shared disk or at an address."
        raise NotARunError(f"This worker cannot access {shown_path(run_dir)}.", hint)
    return run_dir
