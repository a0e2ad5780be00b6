"""Removes old values of a run: whole values files, and of closed workers the older part of one."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from tensortap.core.errors import DamagedError, DeniedError
from tensortap.storage.entry import Entry

from ..format.layout import HEADER, Shard, shards_of, stats_path, values_path
from ..read.runs import RunReader
from ..write.retention import (
    Retention,
    choose,
    discard,
    open_shards,
)
from .value_moves import ALIGN, can_move, move_values, moved_size


@dataclass(slots=True)
class Pruned:
    """Result of pruning: values files, their bytes, and snapshots that lose their value.

    Attributes:
        newest: the last step is among those that lose one.
        left_files, left_bytes: values files that stay. writing: those of them that a process is writing.
        left_steps: steps with a value in them.
        moved: values moved from removed files to a new file.
        damaged: sentences about workers with damaged files, which are not changed.
    """

    files: int = 0
    bytes: int = 0
    values: int = 0
    newest: bool = False
    left_files: int = 0
    left_bytes: int = 0
    left_steps: int = 0
    writing: int = 0
    moved: int = 0
    removed: list[str] = field(default_factory=list)
    damaged: list[str] = field(default_factory=list)


@dataclass(slots=True)
class _Value:
    """Stored bytes that rows name: how many, the steps of the rows, and the last of the rows."""

    length: int
    steps: set[int]
    rows: int
    seq: int


_Values = dict[Shard, dict[int, _Value]]  # by offset


def prune_run(run_dir: Path, retention: Retention, *, dry_run: bool = False) -> Pruned:
    """Removes values of a run. Statistics, histograms and values of at most 1 KiB, which are in rows, stay.

    Values that are to stay, but are in a file with others, move to a new file if their worker was closed;
    else the file stays where `keep_last` requests it, and goes where `max_bytes` does. Shards that a process
    is writing stay.

    Raises:
        NotARunError, FormatVersionError: see `RunReader`. DeniedError: statistics are unreadable, so the age
            of values is unknown. OSError: a file cannot be removed.
    """
    values = _read(RunReader(run_dir))
    shards = shards_of(run_dir)
    steps = {
        shard: {step for value in held.values() for step in value.steps} for shard, held in values.items()
    }
    recent = sorted(set().union(*steps.values()))
    protected = open_shards(run_dir, shards)
    chosen = choose(retention, shards, steps, recent, protected, by_step=True)
    kept = _parts(run_dir, retention, shards, values, recent, chosen, protected)
    chosen = [shard for shard in chosen if shard not in kept]
    damaged: list[str] = []
    if not dry_run:
        kept = _move(run_dir, kept, {*shards, *values}, damaged)
        for shard in (*chosen, *kept):
            discard(run_dir, shard)
    found = _report(shards, values, chosen, kept, recent, len(protected))
    found.damaged = damaged
    return found


def _read(reader: RunReader) -> _Values:
    """The values that rows reference, by file."""
    found: _Values = {}
    names = ("value_file", "value_offset", "value_length", "step", "seq")
    for info in reader.workers():
        tail = reader.tail(info.worker)
        while commits := tail.poll(names, 8 << 20):
            for commit in commits:
                columns = (commit.batch.column(name).to_pylist() for name in names)
                for file, offset, length, step, seq in zip(*columns, strict=True):
                    if file >= 0:
                        held = found.setdefault((info.worker, file), {})
                        value = held.setdefault(offset, _Value(length, set(), 0, seq))
                        value.steps.add(step)
                        value.rows += 1
                        value.seq = seq
        if tail.denied is not None:
            raise DeniedError(stats_path(Path(info.worker), tail.position.file).as_posix())
    return found


def _parts(
    run_dir: Path,
    retention: Retention,
    shards: dict[Shard, Entry],
    values: _Values,
    recent: list[int],
    chosen: list[Shard],
    protected: set[Shard],
) -> dict[Shard, set[int]]:
    """Offsets of the values to keep in partially removed shards.

    One that would go, but holds what there is room for of the last step, stays whole where it cannot move.
    """
    movable = {worker for worker in {shard[0] for shard in shards} if can_move(run_dir, worker)}
    last = set(recent if retention.keep_last is None else recent[-retention.keep_last :])
    parts = {}
    for shard in shards:
        held = values.get(shard, {})
        late = {offset for offset, value in held.items() if value.steps & last}
        if (
            shard[0] in movable
            and shard not in protected
            and shard not in chosen
            and 0 < len(late) < len(held)
        ):
            parts[shard] = late
    if retention.max_bytes is not None and chosen:
        shard = chosen[-1]  # the newest that goes: what there is room for stays
        room = retention.max_bytes - sum(
            _size(shards[other], values.get(other, {}), parts.get(other))
            for other in shards
            if other not in chosen
        )
        newest = _newest(values.get(shard, {}), last, room)
        if newest and shard[0] in movable:
            parts[shard] = newest
        elif newest and any(recent[-1] in values[shard][offset].steps for offset in newest):
            chosen.remove(shard)
    return parts


def _size(entry: Entry, held: dict[int, _Value], part: set[int] | None) -> int:
    return entry.size if part is None else moved_size([held[offset].length for offset in part])


def _newest(held: dict[int, _Value], steps: set[int], room: int) -> set[int]:
    """Offsets of the newest values, of some of these steps, that fit into a file of `room` bytes."""
    found: set[int] = set()
    room -= HEADER
    for offset, value in sorted(
        held.items(), key=lambda item: (max(item[1].steps), item[1].seq), reverse=True
    ):
        room -= value.length + ALIGN
        if room < 0 or not value.steps & steps:
            break
        found.add(offset)
    return found


def _move(
    run_dir: Path, parts: dict[Shard, set[int]], known: set[Shard], damaged: list[str]
) -> dict[Shard, set[int]]:
    """Moves the values to keep; returns the moved values.

    Workers with damaged files are not changed; `damaged` receives a sentence about each.
    """
    moved: dict[Shard, set[int]] = {}
    for worker in {shard[0] for shard in parts}:
        of_worker = {shard[1]: part for shard, part in parts.items() if shard[0] == worker}
        first = 1 + max(number for name, number in known if name == worker)
        try:
            move_values(run_dir, worker, of_worker, first)
        except DamagedError as error:
            damaged.append(f"{worker}: {error.message}")
            continue
        moved |= {(worker, number): part for number, part in of_worker.items()}
    return moved


def _report(
    shards: dict[Shard, Entry],
    values: _Values,
    chosen: list[Shard],
    kept: dict[Shard, set[int]],
    recent: list[int],
    writing: int,
) -> Pruned:
    pruned = Pruned(writing=writing)
    left_steps: set[int] = set()
    for shard, entry in shards.items():
        held = values.get(shard, {})
        part = set() if shard in chosen else kept.get(shard, set(held))
        left_steps |= {step for offset in part for step in held[offset].steps}
        left = 0 if shard in chosen else _size(entry, held, kept.get(shard))
        pruned.left_bytes += left
        pruned.left_files += shard not in chosen
        if shard in chosen or shard in kept:
            lost = [value for offset, value in held.items() if offset not in part]
            pruned.files += 1
            pruned.bytes += entry.size - left
            pruned.values += sum(value.rows for value in lost)
            pruned.newest |= any(recent[-1] in value.steps for value in lost)
            pruned.moved += sum(held[offset].rows for offset in part)
            pruned.removed.append(f"{shard[0]}/{values_path(Path(), shard[1]).name}")
    pruned.left_steps = len(left_steps)
    return pruned
