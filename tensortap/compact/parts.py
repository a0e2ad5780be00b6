"""The tasks of a compaction: find which steps are where, write a part, merge rollups.

All take and return JSON. What they write are files, published under names that the arguments give.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from tensortap.core.dtypes import Array
from tensortap.core.errors import DamagedError, NotARunError
from tensortap.dump.format.frames import Frame, read_frame, read_schema_message
from tensortap.dump.format.layout import stats_path
from tensortap.dump.format.record_batches import KNOWN_STATISTICS, decode_statistics, statistics_layout
from tensortap.dump.format.run_files import WORKER_FILE
from tensortap.dump.format.schema import HISTOGRAM_COLUMNS, SCHEMA
from tensortap.dump.read.file_marks import FileFingerprints
from tensortap.dump.read.stats_reader import StatsTail, TailPosition
from tensortap.storage.files import FileReader, crc32c_of_file, published, read_json
from tensortap.storage.uri import shown_path

from .manifest import FOLDER, CompactFile, read_parquet, verify
from .partial_reading import write_groups
from .rollups import (
    SNAPSHOT,
    TENSOR,
    count_by_step,
    count_by_tensor,
    count_by_worker,
    list_kinds,
    order_of,
    roll_up,
    with_dictionaries,
)

Record = dict[str, Any]

_LEFT_IN_STREAMS = ("value", "value_blocks")
STREAM_COLUMNS = [name for name in SCHEMA.names if name not in _LEFT_IN_STREAMS]
ROW_COLUMNS = [
    *SNAPSHOT,
    *(name for name in STREAM_COLUMNS if name not in (*SNAPSHOT, *HISTOGRAM_COLUMNS)),
]
_POLL = 16 << 20  # decoded bytes at a time
_READ_AHEAD = 4 << 20
_ROW_GROUP = 1 << 15  # rows: some MB, so that few tensors are read for one
_HISTOGRAM_GROUP = 1 << 10  # rows: a tensor's histograms are read alone, and take 30 times as long to decode
_METADATA = {b"tensortap compact": b"1"}


def scan_workers(argument: Record) -> Record:
    """Continues reading the streams of workers, to find the commits of each step. Verifies checksums.

    Args:
        argument: `run`, and `workers`: {name: position to read on from, or None}.

    Returns:
        `workers`: {name: `position`, `files` (marks), `closed`, `about` (its worker.json), `steps`:
        {step: [rows, bytes]}, `ranges`: those of `write_part`, with the steps that they hold:
        [first, last, file, start, stop]}.
    """
    run_dir = _run_dir(argument)
    return {
        "workers": {
            worker: _scan(run_dir, worker, position) for worker, position in argument["workers"].items()
        }
    }


def _scan(run_dir: Path, worker: str, position: Record | None) -> Record:
    tail = StatsTail(run_dir, worker)
    if position is not None:
        tail.resume(TailPosition.of(position))
    steps: dict[int, list[int]] = {}
    ranges: list[list[int]] = []
    while commits := tail.poll(("step",), _POLL):
        for commit in commits:
            found, counts = np.unique(commit.batch.column("step").to_numpy(), return_counts=True)
            if not len(found):
                continue
            for step, rows in zip(found.tolist(), counts.tolist(), strict=True):
                held = steps.setdefault(step, [0, 0])
                held[0] += rows
                held[1] += commit.length * rows // commit.batch.num_rows
            first, last = int(found[0]), int(found[-1])
            end = commit.offset + commit.length
            before = ranges[-1] if ranges else None
            if (
                before is not None
                and before[:4] == [first, last, commit.file, before[3]]
                and (before[4] == commit.offset)
            ):
                before[4] = end
            else:
                ranges.append([first, last, commit.file, commit.offset, end])
    where = tail.position
    try:
        marks = FileFingerprints(run_dir / worker).update(where) if where.file or where.offset else []
    except FileNotFoundError as error:
        hint = "'tensortap check --repair' writes a repaired copy; compact the copy."
        raise DamagedError(f"A statistics file of {worker} is missing.", hint) from error
    return {
        "position": asdict(where),
        "files": marks,
        "steps": {str(step): held for step, held in steps.items()},
        "ranges": ranges,
        "denied": tail.denied,
        "closed": tail.closed,
        "about": _about(run_dir / worker / WORKER_FILE),
    }


def _about(path: Path) -> Record:
    """Content of a `worker.json`, if it can be read."""
    try:
        return read_json(path)
    except (OSError, DamagedError):
        return {}


def write_part(argument: Record) -> Record:
    """Writes one part: its rows sorted by tensor, step, visit and worker, histograms and rollups.

    Args:
        argument: `run`; `workers`: of the run, the oldest first; `first`, `last`: steps; `ranges`:
            [worker, file, start, stop] of streams, which hold whole commits; `sources`: `rows` and
            `histograms` of parts to take over; `name`: ending of the files' names.

    Returns:
        `snapshots`, and the files by table.
    """
    run_dir = _run_dir(argument)
    first, last = argument["first"], argument["last"]
    pieces = [_within(_from_part(run_dir, source), first, last) for source in argument["sources"]]
    for worker, file, start, stop in argument["ranges"]:
        for batches in read_range(run_dir, worker, file, start, stop):
            pieces.append(_within(stream_rows(batches, worker), first, last))
    table = pa.concat_tables(pieces).unify_dictionaries()
    del pieces
    answer: Record = {"snapshots": table.num_rows}

    def write(kind: str, content: pa.Table, order: Array | None = None) -> None:
        stem = f"{kind}-{first}-{last}-{argument['name']}"
        answer[kind] = asdict(write_table(run_dir, stem, content, order))

    # Column by column, and histograms in the order of their rows while they are written: memory is slow where
    # a virtual machine must get it from its host first.
    columns = dict(zip(table.column_names, table.columns, strict=True))
    del table
    for column in columns:
        columns[column] = columns[column].combine_chunks()
    table = pa.table(columns)
    del columns
    order = order_of(table, (*SNAPSHOT, "seq"))
    write("histograms", table.select([*SNAPSHOT, *HISTOGRAM_COLUMNS]), order)
    table = table.select(ROW_COLUMNS)  # from here on without histograms
    table = table.take(order)
    write("rows", table)
    write("steps", count_by_step(table))
    write("tensors", count_by_tensor(table, argument["workers"]))
    write("writers", count_by_worker(table))
    write("kinds", list_kinds(table, argument["workers"]))
    by_step = roll_up(table, (*TENSOR, "step"))
    del table
    write("by_step", by_step)
    write("by_tensor", roll_up(by_step, TENSOR))
    return answer


def merge_by_tensor(argument: Record) -> Record:
    """Merges rollups by tensor. Args: `run`, `sources`: files, in the order of their steps, `name`."""
    run_dir = _run_dir(argument)
    pieces = [_read_table(run_dir, source) for source in argument["sources"]]
    table = pa.concat_tables(pieces).unify_dictionaries().combine_chunks()
    merged = roll_up(table.take(order_of(table, TENSOR)), TENSOR)
    return asdict(write_table(run_dir, f"by_tensor-{argument['name']}", merged))


def read_range(
    run_dir: Path, worker: str, file: int, start: int, stop: int
) -> Iterator[list[pa.RecordBatch]]:
    """The rows of commits that follow one another in a statistics file, verified, some MB at a time.

    Raises:
        DamagedError: the stream has changed.
    """
    path = stats_path(run_dir / worker, file)
    try:
        with FileReader(path, _READ_AHEAD) as source:
            frames: list[Frame] = []
            decoded, layout = 0, None
            while start < stop:
                frame = read_frame(source, start)
                if layout is None:
                    known = KNOWN_STATISTICS.get(frame.schema_crc)
                    layout = known or statistics_layout(read_schema_message(source))
                decoded += layout.check(frame)
                frames.append(frame)
                start = frame.end
                if decoded >= _POLL or start >= stop:
                    yield decode_statistics(frames, layout, STREAM_COLUMNS)
                    frames, decoded = [], 0
    except FileNotFoundError as error:
        raise DamagedError(f"{shown_path(path)} was removed while it was read.") from error


def stream_rows(batches: Sequence[pa.RecordBatch], worker: str) -> pa.Table:
    """Rows of one worker's stream, with its name; texts that repeat are dictionaries."""
    table = with_dictionaries(pa.Table.from_batches(batches).combine_chunks())
    codes = pa.DictionaryArray.from_arrays(np.zeros(table.num_rows, np.int32), pa.array([worker]))
    return _alike(table.append_column("worker", codes))


def write_table(run_dir: Path, stem: str, table: pa.Table, order: Array | None = None) -> CompactFile:
    """Writes a Parquet file whole, under a temporary name first. Raises OSError.

    Args:
        order: [rows], the rows of the table in the order in which they are written; None: as they are.
    """
    path = run_dir / FOLDER / f"{stem}.parquet"
    try:
        with published(path) as temporary:
            table = table.replace_schema_metadata(_METADATA)
            footer = write_groups(temporary, table, _group_rows(table), order)
            size = temporary.stat().st_size
            return CompactFile(path.name, size, crc32c_of_file(temporary, size), *footer)
    except OSError as error:  # of a write: it names no file
        raise OSError(error.errno, error.strerror or str(error), str(path)) from error


def _group_rows(table: pa.Table) -> int:
    return _HISTOGRAM_GROUP if HISTOGRAM_COLUMNS[0] in table.column_names else _ROW_GROUP


def _from_part(run_dir: Path, source: Record) -> pa.Table:
    """Rows and histograms of a part, as before it was written."""
    rows, histograms = (_read_table(run_dir, source[kind]) for kind in ("rows", "histograms"))
    for name in HISTOGRAM_COLUMNS:
        rows = rows.append_column(name, histograms.column(name))
    return rows.select([*STREAM_COLUMNS, "worker"])


def _read_table(run_dir: Path, source: Record) -> pa.Table:
    path = verify(run_dir, CompactFile(**source))
    return _alike(read_parquet(path))


def _alike(table: pa.Table) -> pa.Table:
    """The same with the types that rows have in memory, whether they come from a stream or a file."""
    columns = []
    for column in table.columns:
        kind = column.type
        columns.append(column.cast(pa.list_(kind.value_type)) if pa.types.is_list(kind) else column)
    return pa.table(columns, names=table.column_names)


def _within(table: pa.Table, first: int, last: int) -> pa.Table:
    steps = table.column("step").to_numpy()
    inside = (steps >= first) & (steps <= last)
    return table if inside.all() else table.filter(pa.array(inside))


def _run_dir(argument: Record) -> Path:
    run_dir = Path(argument["run"])
    if not (run_dir / FOLDER).is_dir():
        hint = "All workers of the cluster need the run at the same path on a shared disk."
        raise NotARunError(f"This worker cannot access {shown_path(run_dir / FOLDER)}.", hint)
    return run_dir
