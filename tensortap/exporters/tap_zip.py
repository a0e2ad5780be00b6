"""`.tap.zip`: a run in one file, with uncompressed members, so that it is read in place."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tensortap.compact.manifest import FOLDER, check_compacted
from tensortap.core.dtypes import Array
from tensortap.core.errors import DamagedError, InvalidValueError, ValueNotKeptError
from tensortap.core.progress import AdvanceCount, ignore_count
from tensortap.core.records import COUNTS, STATISTICS, Summary
from tensortap.core.text import counted
from tensortap.dump.format.events import EventsTail
from tensortap.dump.format.graphs import read_graph_def
from tensortap.dump.format.run_files import RUN_FILE
from tensortap.dump.format.schema import LOST, REFUSED
from tensortap.dump.maintenance.run_check import check_run
from tensortap.dump.read.runs import RunReader
from tensortap.dump.write.writer import DumpWriter
from tensortap.index.catalog.tensor_table import NO_GRAPH
from tensortap.index.run_index import RunIndex
from tensortap.index.snapshot import Snapshot, snapshots_at
from tensortap.index.values import find_histogram, read_slice, stored_sample
from tensortap.scale.engine import Engine
from tensortap.storage.files import FileReader
from tensortap.storage.filesystem import exists, scan, stat_path
from tensortap.storage.uri import is_remote

from .base import Exported, all_rows, new_file

_BATCH_SNAPSHOTS = 1000  # snapshots
_LOST = {"refused": REFUSED, "damaged": LOST}  # what became of a value, by `Snapshot.no_value`
_NAMED = {"kind", "step"}  # what `event` takes by itself

_COPY_BYTES = 4 << 20  # bytes copied at a time
_EPOCH = (1980, 1, 1, 0, 0, 0)  # the earliest date of a zip; equal runs give equal files
_MAX_DEPTH = 8  # folders of a run; the format has two


def export_tap_zip(
    run: RunIndex, rows: Array | None, out: Path, advance: AdvanceCount, engine: Engine | None = None
) -> Exported:
    """Exports the written part of a growing run; refuses a damaged run.

    Args:
        engine: verifies a whole run; None: this process.

    Raises:
        DamagedError: something in it does not match its checksum, or is missing: a copy would look whole.
    """
    if rows is None:
        refuse_damage(run, engine)
        compacted = _damage_of_compacted(run)
        with new_file(out) as temporary:
            without = (f"{FOLDER}/",) if compacted else ()
            skipped = _write(temporary, run.path, run.path.name, advance, without)
        return Exported(out, run.catalog.rows, out.stat().st_size, compacted + skipped)
    with new_file(out) as temporary:
        folder = temporary.with_name(f"{out.name}.part")
        skipped = copy_part(run, all_rows(run, rows), folder, run.path.name, advance)
        skipped += _write(temporary, folder / run.path.name, run.path.name, ignore_count)
    return Exported(out, len(rows), out.stat().st_size, skipped)


def refuse_damage(run: RunIndex, engine: Engine | None = None) -> None:
    """Checks every checksum of a run.

    Raises:
        DamagedError: one does not match, or something is missing.
    """
    damage = check_run(run.name, run.path, engine=engine).damage
    if damage:
        places = counted(len(damage), "place")
        raise DamagedError(
            f"The run {run.name!r} is damaged in {places}, and was not exported: {damage[0]}",
            "Run 'tensortap check --repair', and export the repaired copy.",
        )


def _damage_of_compacted(run: RunIndex) -> list[str]:
    """Sentences about damage of `compact/`. It is derived, so a copy is complete without it.

    Raises:
        DamagedError: there is damage, and nothing else has the statistics.
    """
    damage = [] if is_remote(run.path) else check_compacted(run.path)[1]
    if damage and not RunReader(run.path).workers():
        raise DamagedError(f"The run {run.name!r} is damaged, and was not exported: {damage[0]}")
    return [f"{FOLDER}/: {sentence}" for sentence in damage]


def _write(
    out: Path, run_dir: Path, name: str, advance: AdvanceCount, without: tuple[str, ...] = ()
) -> list[str]:
    # In the order of names: statistics come before values, so that every value they name is there.
    members = sorted(member for member in _members(run_dir) if not member[0].startswith(without))
    total, done, skipped = sum(size for _, size in members), 0, []
    with zipfile.ZipFile(out, "x", zipfile.ZIP_STORED, allowZip64=True, strict_timestamps=False) as archive:
        for relative, _ in members:
            try:
                source = FileReader(run_dir / relative)
            except (DamagedError, FileNotFoundError) as error:
                mark = relative.removesuffix(".safetensors") + ".pruned"
                if exists(run_dir / mark):  # since the list was made
                    archive.writestr(_member(f"{name}/{mark}"), b"")
                else:
                    skipped.append(f"{relative}: {error}")
                continue
            member = _member(f"{name}/{relative}")
            with source, archive.open(member, "w", force_zip64=True) as target:
                for at in range(0, source.size, _COPY_BYTES):
                    target.write(source.read(at, _COPY_BYTES))
                    done += min(_COPY_BYTES, source.size - at)
                    advance(done, total)
    return skipped


def _member(name: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name, _EPOCH)
    info.external_attr = 0o644 << 16
    return info


def _members(run_dir: Path, below: str = "") -> Iterator[tuple[str, int]]:
    """(name in the run, size) of its regular files, without links, hidden folders (such as the one of this
    export) and runs below it."""
    if below.count("/") > _MAX_DEPTH:
        return
    for entry in scan(run_dir / below):
        if entry.is_file and not entry.name.endswith(".tmp"):
            yield below + entry.name, entry.size if entry.size >= 0 else _size(run_dir / below / entry.name)
        elif entry.is_folder and not entry.name.startswith(".") and not _is_run(run_dir / below / entry.name):
            yield from _members(run_dir, f"{below}{entry.name}/")


def _is_run(folder: Path) -> bool:
    return exists(folder / RUN_FILE)


def _size(path: Path) -> int:
    try:
        return stat_path(path).size
    except OSError:  # it was removed
        return 0


def copy_part(run: RunIndex, rows: Array, logdir: Path, name: str, advance: AdvanceCount) -> list[str]:
    """Writes the run `name` below `logdir`; returns sentences about values that are lost.

    What several workers captured becomes one worker's; steps, visits, times, devices and values stay.
    """
    skipped: list[str] = []
    info = run.info | {"exported from": run.name}
    with DumpWriter(logdir, name, info=info) as writer:
        graphs = _copy_graphs(run, writer, skipped)
        _copy_events(run, writer, set(run.catalog.column("step", rows).tolist()), skipped)
        for start in range(0, len(rows), _BATCH_SNAPSHOTS):
            for snapshot in snapshots_at(run.catalog, rows[start : start + _BATCH_SNAPSHOTS]):
                place: dict[str, Any] = {
                    "step": snapshot.step,
                    "visit": snapshot.visit,
                    "graph": graphs.get(snapshot.graph, ""),
                    "device": snapshot.device,
                    "time": snapshot.time,
                }
                try:
                    _copy(run, writer, snapshot, place)
                except (DamagedError, ValueNotKeptError) as error:
                    skipped.append(f"{snapshot.tensor} at step {snapshot.step}: {error.message}")
                    writer.log_summary(snapshot.tensor, _summary(run, snapshot), kept=LOST, **place)
            advance(min(start + _BATCH_SNAPSHOTS, len(rows)), len(rows))
    return skipped


def _copy(run: RunIndex, writer: DumpWriter, snapshot: Snapshot, place: dict[str, Any]) -> None:
    sample = stored_sample(run, snapshot)
    if snapshot.kept and sample is None:
        writer.log(snapshot.tensor, read_slice(run, snapshot), **place)
        return
    lost = _LOST.get(snapshot.no_value)
    kept = lost if sample is None else (read_slice(run, snapshot), sample)
    writer.log_summary(snapshot.tensor, _summary(run, snapshot), kept=kept, **place)


def _copy_events(run: RunIndex, writer: DumpWriter, steps: set[int], skipped: list[str]) -> None:
    """Copy the events of the copied steps and of the run as a whole."""
    for worker in RunReader(run.path).workers():
        tail = EventsTail(run.path, worker.worker)
        while records := tail.poll():
            for record in records:
                kind, step = record.get("kind"), record.get("step")
                of_part = step is None or (isinstance(step, int) and step in steps)
                if not isinstance(kind, str) or not of_part:
                    continue
                try:
                    writer.event(kind, step=step, **{name: record[name] for name in record.keys() - _NAMED})
                except InvalidValueError as error:
                    skipped.append(f"an event at step {step}: {error.message}")
        skipped += tail.problems


def _summary(run: RunIndex, snapshot: Snapshot) -> Summary:
    names = ("dtype", "shape", "size", *COUNTS, *STATISTICS)
    return Summary(
        **{name: getattr(snapshot, name) for name in names}, histogram=find_histogram(run, snapshot)
    )


def _copy_graphs(run: RunIndex, writer: DumpWriter, skipped: list[str]) -> dict[str, str]:
    reader, ids = RunReader(run.path), {NO_GRAPH: ""}
    for graph_id in reader.graph_ids():
        try:
            ids[graph_id] = writer.graph(reader.graph(graph_id))
            read_graph_def(run.path, graph_id)
        except FileNotFoundError:  # it has none
            continue
        except DamagedError as error:
            skipped.append(f"graph {graph_id}: {error.message}")
    return ids
