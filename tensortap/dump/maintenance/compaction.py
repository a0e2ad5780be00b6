"""Moves the stored values of a worker to a new file, and rewrites its rows (FORMAT.md, "Pruned values").

Only for workers that were closed: nobody writes their files any more.
"""

from __future__ import annotations

import contextlib
import os
import uuid
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from tensortap.core.errors import DamagedError
from tensortap.core.names import tensor_name
from tensortap.core.sampling import split_sample
from tensortap.storage.files import (
    FileReader,
    create,
    publish,
    sync_folder,
    write_all,
)

from ..format.frames import EOS, encode
from ..format.layout import HEADER, SAFETENSORS, stats_path, values_path
from ..format.record_batches import STATISTICS_V1
from ..format.run_files import RUN_FILE, read_closing
from ..format.schema import SCHEMA, SCHEMA_MESSAGE
from ..format.value_codec import RAW
from ..read.stats_reader import Commit, StatsTail
from ..write.values_writer import ValuesWriter

ALIGN = 16  # bytes: a multiple of every item's size
_POLL = 8 << 20  # decoded bytes held at a time
_WHERE = ("value_file", "value_offset")


def can_move(run_dir: Path, worker: str) -> bool:
    """Whether a worker said that it is closed. Raises OSError."""
    try:
        return read_closing(run_dir / worker) is not None
    except DamagedError:
        return False


def moved_size(lengths: Collection[int]) -> int:
    """Most bytes of a file that values of these lengths are moved to."""
    return HEADER + sum(length + ALIGN for length in lengths)


def move_values(run_dir: Path, worker: str, kept: Mapping[int, Collection[int]], first: int) -> None:
    """Copies the values at some offsets of values files to new files, and lets the worker's rows name those.

    The statistics are written anew beside the old ones, and renamed one by one: until the old values files
    are removed, which is left to the caller, every row names a value that is there.

    Args:
        kept: by the number of a values file, offsets in it. first: the number of the first new one.

    Raises:
        DamagedError: something there cannot be read. OSError: the disk refused. Nothing was changed then, but
        where renaming itself failed.
    """
    move = _Move(run_dir, worker, kept, first)
    try:
        move.write()
        move.rename()
    except BaseException:
        move.undo()
        raise
    with contextlib.suppress(OSError):  # whoever reads the run looks at it anew
        publish(run_dir / RUN_FILE, (run_dir / RUN_FILE).read_bytes())


class _Move:
    """New values and statistics files, beside the old ones."""

    def __init__(self, run_dir: Path, worker: str, kept: Mapping[int, Collection[int]], first: int) -> None:
        self._run_dir, self._worker, self._kept, self._first = run_dir, worker, kept, first
        self._dir = run_dir / worker
        self._values = ValuesWriter(self._dir, fsync=True, first=first)
        self._moved: dict[tuple[int, int], tuple[int, int]] = {}
        self._files: dict[int, Path] = {}  # by the number of the statistics file that each is to replace
        self._fd, self._size = -1, 0
        self._renamed = False

    def write(self) -> None:
        tail = StatsTail(self._run_dir, self._worker)
        try:
            while commits := tail.poll(max_bytes=_POLL):
                for commit in commits:
                    self._write(commit)
                if tail.position.schema not in (None, STATISTICS_V1.crc):
                    raise DamagedError(f"{self._worker} was written by a later version.")
            self._end_file()
            self._values.seal()
        finally:
            self._values.abandon()
            if self._fd >= 0:
                os.close(self._fd)
        if tail.damage or tail.pending or not tail.closed:
            raise DamagedError(f"The statistics of {self._worker} are damaged.")
        times = [values_path(self._dir, number).stat().st_mtime_ns for number in self._kept]
        for number in {file for file, _ in self._moved.values()}:
            os.utime(values_path(self._dir, number), ns=(max(times), max(times)))

    def rename(self) -> None:
        self._renamed = True
        for number, path in sorted(self._files.items()):
            path.replace(stats_path(self._dir, number))
        sync_folder(self._dir)

    def undo(self) -> None:
        """Removes what no row names."""
        for path in self._files.values():
            path.unlink(missing_ok=True)
        if not self._renamed:
            for number in range(self._first, self._values.number + 1):
                values_path(self._dir, number).unlink(missing_ok=True)

    def _write(self, commit: Commit) -> None:
        if commit.file not in self._files:
            self._end_file()
            path = stats_path(self._dir, commit.file)
            self._files[commit.file] = path.with_name(f"{path.name}.{uuid.uuid4().hex[:12]}.tmp")
            self._fd = create(self._files[commit.file])
            self._append(SCHEMA_MESSAGE)
        self._append(encode(self._following(commit.batch), SCHEMA_MESSAGE, commit.status, "zstd"))

    def _append(self, data: bytes) -> None:
        write_all(self._fd, data, self._size)
        self._size += len(data)

    def _end_file(self) -> None:
        if self._fd >= 0:
            self._append(EOS)
            os.fsync(self._fd)
            os.close(self._fd)
        self._fd, self._size = -1, 0

    def _following(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The rows, of which those whose value moves name its new place."""
        files, offsets = (batch.column(name).to_pylist() for name in _WHERE)
        for row, place in enumerate(zip(files, offsets, strict=True)):
            if place[1] in self._kept.get(place[0], ()):
                if place not in self._moved:
                    self._moved[place] = self._move(place, batch.slice(row, 1).to_pylist()[0])
                files[row], offsets[row] = self._moved[place]
        columns = {name: batch.column(name) for name in SCHEMA.names}
        for name, cells in zip(_WHERE, (files, offsets), strict=True):
            columns[name] = pa.array(cells, SCHEMA.field(name).type)
        return pa.RecordBatch.from_arrays(list(columns.values()), schema=SCHEMA)

    def _move(self, place: tuple[int, int], row: dict[str, Any]) -> tuple[int, int]:
        with FileReader(values_path(self._dir, place[0])) as file:
            data = file.read_exactly(place[1], row["value_length"])
        sample, codec = split_sample(row["value_codec"])
        shape = tuple(row["shape"]) if sample is None else (sample.kept(row["size"]),)
        entry = f"{tensor_name(row['node'], row['slot'])}@{row['step']}#{row['seq']}"
        dtype = SAFETENSORS.get(row["dtype"]) if codec == RAW else None
        return self._values.append(entry, data, dtype, shape, ALIGN)
