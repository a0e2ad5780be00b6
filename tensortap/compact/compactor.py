"""Compacts a run: plans the step ranges, lets an engine write the parts, publishes the manifest."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from itertools import takewhile
from math import ceil
from pathlib import Path
from typing import Any

import numpy as np

from tensortap.core.errors import DamagedError, LimitError
from tensortap.core.names import GRAPHS
from tensortap.core.progress import Advance, ignore_advance
from tensortap.dump.format.layout import RECORDINGS
from tensortap.dump.format.run_files import wrong_total
from tensortap.dump.read.runs import RunReader
from tensortap.dump.read.stats_reader import TailPosition
from tensortap.scale.engine import Engine, reduce_tree
from tensortap.storage.uri import shown_path
from tensortap.system.locks import lock_file

from .manifest import (
    FOLDER,
    TABLES,
    CompactedPart,
    CompactFile,
    Manifest,
    WorkerMark,
    has_streams,
    join_tables,
    publish_manifest,
    read_manifest,
    read_parquet,
    remove_unnamed,
    verify,
)
from .parts import merge_by_tensor, scan_workers, write_part

PART_BYTES = 64 << 20  # of streams that a part is made of, at most; a step is never in two parts
_END = 1 / 16  # of it for the first and the last part of a larger run: a page begins with their steps
_WORKERS_AT_ONCE, _FEWEST_SCANS = 16, 8  # that one task scans; tasks for 8 workers or more
_LOCK = "lock"


@dataclass(slots=True)
class Compaction:
    """Result of a compaction.

    Attributes:
        snapshots: in the compacted files; added: of them those that are new. bytes: of the files.
        parts: there are; written: of them those that are new. rebuilt: why all was made again, or empty.
        damage: sentences about what had to be skipped in the streams.
    """

    snapshots: int
    added: int
    bytes: int
    parts: int
    written: int
    rebuilt: str = ""
    damage: list[str] = field(default_factory=list)


@dataclass(slots=True)
class _PlannedPart:
    first: int
    last: int
    bytes: int
    ranges: list[tuple[str, int, int, int]] = field(default_factory=list)
    sources: list[CompactedPart] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Range:
    """Consecutive commits of a worker with these steps."""

    first: int
    last: int
    worker: str
    file: int
    start: int
    stop: int


def compact_run(
    run_dir: Path, engine: Engine, advance: Advance = ignore_advance, *, rebuild: bool = False
) -> Compaction:
    """Writes the new data of a run to `compact/`, sorted, and merges it with the existing parts.

    Files that do not fit the streams any more, as after `prune`, are made again; so are all with `rebuild`.

    Raises:
        NotARunError, FormatVersionError: see `read_run_info`.
        DamagedError: statistics are unreadable or missing, or a file of `compact/` is damaged.
        LimitError: another process compacts the run. TensortapError: a task failed.
        OSError: the disk refused.
    """
    run_dir = run_dir.absolute()
    reader = RunReader(run_dir)
    (run_dir / FOLDER).mkdir(exist_ok=True)
    with _only_compactor(run_dir):
        known, why = _known(run_dir, rebuild)
        if not has_streams(run_dir) and any((run_dir / FOLDER).glob("*.parquet")):
            return _without_streams(run_dir, known)
        for name, sentence in reader.missing_folders().items():
            if name not in (GRAPHS, RECORDINGS):  # neither is compacted
                hint = "'tensortap check --repair' writes a repaired copy; compact the copy."
                raise DamagedError(sentence, hint)
        found = _scan(run_dir, engine, [info.worker for info in reader.workers()], known, advance)
        name = uuid.uuid4().hex[:8]
        try:
            manifest, written = _write(run_dir, engine, known, found, name, advance)
        except BaseException:  # Ctrl-C, too; the disk may be full
            for path in (run_dir / FOLDER).glob(f"*-{name}.*"):
                path.unlink(missing_ok=True)
            raise
        if manifest != known or why:
            publish_manifest(run_dir, manifest)
        remove_unnamed(run_dir, manifest)
    added = manifest.snapshots - known.snapshots
    return Compaction(
        manifest.snapshots, added, manifest.size, len(manifest.parts), written, why, manifest.damage
    )


def _without_streams(run_dir: Path, known: Manifest) -> Compaction:
    """The outcome for a run whose `compact/` was copied without its statistics: there is nothing to add.

    Raises:
        DamagedError: it cannot be used, or was to be made again.
    """
    if not known.parts:
        raise DamagedError(
            f"The statistics files of {shown_path(run_dir)} are missing, so compact/ cannot be rebuilt.",
            "Compact the original run, and copy it again.",
        )
    return Compaction(known.snapshots, 0, known.size, len(known.parts), 0, damage=known.damage)


def _known(run_dir: Path, rebuild: bool) -> tuple[Manifest, str]:
    """The manifest if it still fits the run; else the reason, if there is one."""
    if rebuild:
        return Manifest(), "--rebuild"
    try:
        known = read_manifest(run_dir)
    except DamagedError as error:
        return Manifest(), error.message
    if known is None:
        return Manifest(), ""
    if not known.fits(run_dir):
        return Manifest(), "the run's files changed, or files of compact/ are missing"
    if has_streams(run_dir) and any(part.writers is None for part in known.parts):
        return Manifest(), "an earlier version compacted it"
    return known, ""


@contextmanager
def _only_compactor(run_dir: Path) -> Iterator[None]:
    fd = os.open(run_dir / FOLDER / _LOCK, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o644)
    try:
        if lock_file(fd) is False:
            hint = "Wait until it finishes."
            raise LimitError(f"Another process is compacting {shown_path(run_dir)}.", hint)
        yield
    finally:
        os.close(fd)


def _scan(
    run_dir: Path, engine: Engine, workers: Sequence[str], known: Manifest, advance: Advance
) -> dict[str, dict[str, Any]]:
    """Scan each worker that has new commits."""
    positions = {worker: mark.position for worker, mark in known.workers.items()}
    size = min(_WORKERS_AT_ONCE, ceil(len(workers) / _FEWEST_SCANS))
    groups = [workers[at : at + size] for at in range(0, len(workers), size or 1)]
    arguments = [
        {
            "run": str(run_dir),
            "workers": {
                worker: asdict(positions[worker]) if worker in positions else None for worker in group
            },
        }
        for group in groups
    ]
    answers = engine.map(scan_workers, arguments, lambda done, total: advance(done, total, "reading"))
    found = {worker: each for answer in answers for worker, each in answer["workers"].items()}
    for each in found.values():
        if each["denied"] is not None:
            raise DamagedError(each["denied"])
    return found


def _write(
    run_dir: Path,
    engine: Engine,
    known: Manifest,
    found: dict[str, dict[str, Any]],
    name: str,
    advance: Advance,
) -> tuple[Manifest, int]:
    """The new manifest, and the number of written parts. `name`: the ending of their files."""
    workers = {}
    steps: dict[int, int] = {}
    ranges: list[_Range] = []
    for worker, each in found.items():
        position = TailPosition.of(each["position"])
        rows = sum(held[0] for held in each["steps"].values())
        before = known.workers[worker].snapshots if worker in known.workers else 0
        if each["closed"] and not position.damage:
            position = replace(position, damage=tuple(wrong_total(run_dir / worker, before + rows)))
        workers[worker] = WorkerMark(before + rows, position, each["files"], each["closed"], each["about"])
        for step, (_, size) in each["steps"].items():
            steps[int(step)] = steps.get(int(step), 0) + size
        ranges += [_Range(first, last, worker, *rest) for first, last, *rest in each["ranges"]]
    planned, kept = _plan(run_dir, known.parts, steps, ranges)
    if not planned:
        manifest = replace(known, workers=workers)
        if known.parts and known.tables is None:
            manifest.tables = join_tables(run_dir, manifest, name)
        return manifest, 0
    arguments = [
        {
            "run": str(run_dir),
            "workers": Manifest(workers).ages(),
            "first": part.first,
            "last": part.last,
            "ranges": part.ranges,
            "sources": [
                {"rows": asdict(source.rows), "histograms": asdict(source.histograms)}
                for source in part.sources
            ],
            "name": name,
        }
        for part in planned
    ]
    answers = engine.map(write_part, arguments, lambda done, total: advance(done, total, "writing"))
    written = [
        CompactedPart(
            part.first,
            part.last,
            answer["snapshots"],
            part.bytes,
            **{table: CompactFile(**answer[table]) for table in TABLES},
        )
        for part, answer in zip(planned, answers, strict=True)
    ]
    parts = sorted([*kept, *written], key=lambda part: part.first)
    if sum(part.snapshots for part in parts) != sum(mark.snapshots for mark in workers.values()):
        raise DamagedError("The run's statistics changed while they were read.", "Compact it again.")
    manifest = Manifest(workers, parts, _merge_by_tensor(run_dir, engine, parts, name, advance))
    manifest.tables = join_tables(run_dir, manifest, name)
    return manifest, len(written)


def _plan(
    run_dir: Path, parts: Sequence[CompactedPart], new: dict[int, int], ranges: Sequence[_Range]
) -> tuple[list[_PlannedPart], list[CompactedPart]]:
    """Parts to write, disjoint in steps, and those that stay.

    A part that holds a step with new rows is written again; so are the last two while they are small.
    """
    if not new:
        return [], list(parts)
    touched = [part for part in parts if any(part.first <= step <= part.last for step in new)]
    if parts and min(new) > parts[-1].last:
        touched = [*takewhile(lambda part: part.bytes < PART_BYTES // 2, parts[:-3:-1])]
    kept = [part for part in parts if part not in touched]
    weights = dict(new)
    for part in touched:
        for step, size in _step_sizes(run_dir, part).items():
            weights[step] = weights.get(step, 0) + size
    borders, starts = [part.first for part in kept], _starts(weights, kept)
    planned: list[_PlannedPart] = []
    for step in sorted(weights):
        last = planned[-1] if planned else None
        if last is None or step in starts or any(last.last < border < step for border in borders):
            planned.append(_PlannedPart(step, step, weights[step]))
        else:
            last.last = step
            last.bytes += weights[step]
    for plan in planned:
        plan.sources = [each for each in touched if each.first <= plan.last and plan.first <= each.last]
        plan.ranges = _joined(
            [each for each in ranges if each.first <= plan.last and plan.first <= each.last]
        )
    return planned, kept


def _starts(weights: dict[int, int], kept: Sequence[CompactedPart]) -> set[int]:
    """The steps with which parts begin. Parts between small ends are equal and even in number, so that two
    processes finish together."""
    steps = np.array(sorted(weights))
    sizes = np.array([weights[step] for step in steps.tolist()])
    first, total = 0, int(sizes.sum())
    last = total
    if total + sum(part.bytes for part in kept) > PART_BYTES:
        if not kept or steps[0] < kept[0].first:
            first = int(PART_BYTES * _END)
        if not kept or steps[-1] > kept[-1].last:
            last = max(first, total - int(PART_BYTES * _END))
    count = 1 if last - first <= PART_BYTES else 2 * ceil((last - first) / PART_BYTES / 2)
    marks = np.linspace(first, last, count + 1)[: None if last < total else -1]
    at = np.searchsorted(np.cumsum(sizes) - sizes, marks)
    return set(steps[np.minimum(at, len(steps) - 1)].tolist())


def _step_sizes(run_dir: Path, part: CompactedPart) -> dict[int, int]:
    """About how many bytes of a part belong to each of its steps. Raises DamagedError."""
    table = read_parquet(verify(run_dir, part.by_step), ["step", "snapshots"])
    found, at = np.unique(table.column("step").to_numpy(), return_inverse=True)
    rows = np.bincount(at, weights=table.column("snapshots").to_numpy())
    sizes = rows * part.bytes / max(part.snapshots, 1)
    return dict(zip(found.tolist(), sizes.astype(np.int64).tolist(), strict=True))


def _joined(ranges: Sequence[_Range]) -> list[tuple[str, int, int, int]]:
    """(worker, file, start, stop), those that follow one another as one."""
    joined: list[tuple[str, int, int, int]] = []
    for each in ranges:
        if joined and joined[-1][:2] == (each.worker, each.file) and joined[-1][3] == each.start:
            joined[-1] = (*joined[-1][:3], each.stop)
        else:
            joined.append((each.worker, each.file, each.start, each.stop))
    return joined


def _merge_by_tensor(
    run_dir: Path, engine: Engine, parts: Sequence[CompactedPart], name: str, advance: Advance
) -> CompactFile | None:
    """The rollup by tensor of all parts, merged as a tree."""
    level = 0

    def merge(groups: Sequence[Sequence[CompactFile]]) -> list[CompactFile]:
        nonlocal level
        level += 1
        arguments = [
            {
                "run": str(run_dir),
                "sources": [asdict(file) for file in group],
                "name": f"all-{level}-{index}-{name}",  # parts are named by two numbers
            }
            for index, group in enumerate(groups)
        ]
        answers = engine.map(merge_by_tensor, arguments, lambda done, total: advance(done, total, "merging"))
        return [CompactFile(**answer) for answer in answers]

    return reduce_tree([part.by_tensor for part in parts], merge)
