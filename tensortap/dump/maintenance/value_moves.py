"""Moves the stored values of a worker to a new file, and rewrites its rows (FORMAT.md, "Pruned values").

Only for closed workers, because no process writes their files any more.
"""

from __future__ import annotations

import contextlib
import os
import uuid
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import pyarrow as pa

from tensortap.core.errors import DamagedError
from tensortap.core.names import tensor_name
from tensortap.storage.files import (
    create,
    publish,
    sync_folder,
    write_all,
)

from ..format.block_checksums import value_checksums
from ..format.frames import EOS, encode
from ..format.layout import HEADER, SAFETENSORS, stats_path, values_path
from ..format.record_batches import KNOWN_STATISTICS
from ..format.run_files import RUN_FILE, read_closing
from ..format.schema import SCHEMA, SCHEMA_MESSAGE
from ..format.value_codec import RAW
from ..read.stats_reader import Commit, StatsTail
from ..read.values_reader import read_stored, value_ref
from ..write.values_writer import ValuesWriter

ALIGN = 16  # bytes: a multiple of every item's size
_POLL = 8 << 20  # decoded bytes held at a time
_WHERE = ("value_file", "value_offset", "value_blocks")  # the columns of a row that change when a value moves
_Place = tuple[int, int, Sequence[int]]  # content


def can_move(run_dir: Path, worker: str) -> bool:
    """Whether a worker is marked as closed. Raises OSError."""
    try:
        return read_closing(run_dir / worker) is not None
    except DamagedError:
        return False


def moved_size(lengths: Collection[int]) -> int:
    """Most bytes of a file that values of these lengths are moved to."""
    return HEADER + sum(length + ALIGN for length in lengths)


def move_values(run_dir: Path, worker: str, kept: Mapping[int, Collection[int]], first: int) -> None:
    """Copies the values at some offsets of values files to new files, and updates the worker's rows.

    The statistics are written again beside the old ones, and renamed one by one: until the old values files
    are removed, which is left to the caller, every row names a value that is there.

    Args:
        kept: number of a values file -> offsets in it. first: the number of the first new one.

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
    with contextlib.suppress(OSError):  # readers of the run reread it
        publish(run_dir / RUN_FILE, (run_dir / RUN_FILE).read_bytes())


class _Move:
    """New values and statistics files, beside the old ones."""

    def __init__(self, run_dir: Path, worker: str, kept: Mapping[int, Collection[int]], first: int) -> None:
        self._run_dir, self._worker, self._kept, self._first = run_dir, worker, kept, first
        self._dir = run_dir / worker
        self._values = ValuesWriter(self._dir, fsync=True, first=first)
        self._moved: dict[tuple[int, int], _Place] = {}
        self._files: dict[int, Path] = {}  # by the number of the statistics file that each is to replace
        self._fd, self._size = -1, 0
        self._renamed = False

    def write(self) -> None:
        tail = StatsTail(self._run_dir, self._worker)
        try:
            while commits := tail.poll(max_bytes=_POLL):
                for commit in commits:
                    self._write(commit)
                if tail.position.schema not in (None, *KNOWN_STATISTICS):
                    raise DamagedError(f"{self._worker} was written by a newer version. Upgrade tensortap.")
            self._end_file()
            self._values.seal()
        finally:
            self._values.abandon()
            if self._fd >= 0:
                os.close(self._fd)
        if tail.damage or tail.pending or not tail.closed:
            raise DamagedError(f"The statistics of {self._worker} are damaged.")
        times = [values_path(self._dir, number).stat().st_mtime_ns for number in self._kept]
        for number in {file for file, *_ in self._moved.values()}:
            os.utime(values_path(self._dir, number), ns=(max(times), max(times)))

    def rename(self) -> None:
        self._renamed = True
        for number, path in sorted(self._files.items()):
            path.replace(stats_path(self._dir, number))
        sync_folder(self._dir)

    def undo(self) -> None:
        """Removes values that no row references."""
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
        """The rows; those with a moved value get its new place."""
        files, offsets, blocks = (batch.column(name).to_pylist() for name in _WHERE)
        for row, place in enumerate(zip(files, offsets, strict=True)):
            if place[1] in self._kept.get(place[0], ()):
                if place not in self._moved:
                    self._moved[place] = self._move(batch, row)
                files[row], offsets[row], blocks[row] = self._moved[place]
        columns = {name: batch.column(name) for name in SCHEMA.names}
        for name, cells in zip(_WHERE, (files, offsets, blocks), strict=True):
            columns[name] = pa.array(cells, SCHEMA.field(name).type)
        return pa.RecordBatch.from_arrays(list(columns.values()), schema=SCHEMA)

    def _move(self, batch: pa.RecordBatch, row: int) -> _Place:
        """Copies a verified value, so that damaged data does not get new checksums. Raises DamagedError."""
        ref = value_ref(self._run_dir, self._worker, batch, row)
        node, slot, step, seq = (batch.column(name)[row].as_py() for name in ("node", "slot", "step", "seq"))
        name = tensor_name(node, slot)
        if ref is None:
            raise DamagedError(f"The row of {name} at step {step} refers to a missing value.")
        try:
            data = read_stored(ref)
        except DamagedError as error:
            raise DamagedError(f"The value of {name} at step {step} is lost. {error.message}") from error
        dtype = SAFETENSORS.get(ref.dtype) if ref.codec == RAW else None
        place = self._values.append(f"{name}@{step}#{seq}", data, dtype, ref.shape, ALIGN)
        return (*place, value_checksums(data)[1])
