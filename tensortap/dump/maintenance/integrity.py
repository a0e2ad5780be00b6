"""Comparisons of `tensortap check`: files with rows and `closed.json`, values and GraphDefs with
checksums."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from tensortap.core.dtypes import Array
from tensortap.core.errors import DamagedError, ValuePrunedError
from tensortap.core.names import tensor_name
from tensortap.core.text import counted
from tensortap.storage.files import FileReader
from tensortap.storage.filesystem import exists, scan, stat_path
from tensortap.tfproto.proto_classes import read_varint

from ..format.graphs import read_graph_def
from ..format.layout import HEADER, check_header, file_number, length_of_data, stats_path, values_path
from ..format.run_files import (
    CLOSED_FILE,
    WorkerInfo,
    WorkerSummary,
    read_closing,
)
from ..read.runs import RunReader
from ..read.stats_reader import StatsTail
from ..read.values_reader import read_value, value_ref

_PADDING = 16  # bytes: a gap between values is smaller, as no item is larger


class Completeness:
    """Compares one worker's statistics with its other files.

    Create it before reading the statistics, because a closing worker writes its totals after them.

    Attributes:
        damage: sentences about certain losses.
        pending: sentences about what may be missing, or may still come.
        unnamed_bytes: bytes of values that no row names, as after a full disk or a repair; known at the end.

    Raises:
        OSError: the folder cannot be read.
    """

    def __init__(self, run_dir: Path, worker: WorkerInfo) -> None:
        self.damage: list[str] = []
        self.pending: list[str] = []
        self.unnamed_bytes = 0
        self._dir = run_dir / worker.worker
        self._minor = worker.minor
        entries = list(scan(self._dir))
        self._live = worker.is_live(self._dir, entries)
        self._sizes = {
            entry.name: entry.size if entry.size >= 0 else stat_path(self._dir / entry.name).size
            for entry in entries
            if entry.is_file
        }
        self._snapshots = 0
        self._named: dict[int, array[int]] = {}  # by values file: offset, length, offset, …
        self._closing = self._read_closing()
        self.damage += [worker.damage.removeprefix(f"{worker.worker}: ")] if worker.damage else []

    def _read_closing(self) -> WorkerSummary | None:
        try:
            return read_closing(self._dir)
        except DamagedError as error:
            self.damage.append(str(error))
            return None

    def note(self, batch: pa.RecordBatch) -> None:
        """The rows of a commit that could be read."""
        self._snapshots += batch.num_rows
        files, offsets, lengths = (
            batch.column(name).to_numpy() for name in ("value_file", "value_offset", "value_length")
        )
        for file in np.unique(files[files >= 0]).tolist():
            of_file = files == file
            pairs = np.stack([offsets[of_file], lengths[of_file]], axis=1)
            self._named.setdefault(file, array("q")).frombytes(pairs.astype(np.int64).tobytes())

    def finish(self, tail: StatsTail, events: int | None) -> None:
        """Compares, once `tail` has read everything. Skipped if some files are unreadable.

        `events`: how many can be read, or None if that is unknown.
        """
        if tail.denied is not None:
            return
        values = {
            number: size
            for name, size in self._sizes.items()
            if (number := file_number(name, "values-", ".safetensors")) is not None
        }
        self._check_statistics(tail, bool(values))
        unnamed = {number: self._unnamed(number, size) for number, size in sorted(values.items())}
        self.unnamed_bytes = sum(unnamed.values())
        for number in values:
            self._check_shard(number)
        said = None if self._closing is None else self._closing.events
        if said is not None and events is not None and said != events:
            self.damage.append(
                f"{counted(events, 'event')} of {said:,} in {CLOSED_FILE} can be read. Copy the "
                "events files again."
            )
        self._check_closing(tail, [number for number, count in unnamed.items() if count])

    def _check_statistics(self, tail: StatsTail, has_values: bool) -> None:
        """Statistics files that are missing or empty: they are made before any value is written."""
        numbers = {file_number(name, "stats-", ".arrows") for name in self._sizes} - {None}
        last = tail.position.file
        name = stats_path(self._dir, last).name
        what = None
        if last not in numbers:
            what = f"{name} is missing"
        elif self._sizes[name] == 0:
            what = f"{name} is empty"
        if what is not None and (has_values or self._closing is not None or last):
            self.damage.append(f"{what}. Copy it again; its value metadata is lost.")
        elif what is not None:
            self.pending.append(f"{what}: the process is starting, or was stopped early.")
        following = _least_above(last, self._sizes)
        if following is not None:
            missing, found = (stats_path(self._dir, number).name for number in (last + 1, following))
            self.damage.append(
                f"{missing} is missing, so {found} and later files are only read by --repair. Copy "
                "the run again, with all its files."
            )

    def _check_closing(self, tail: StatsTail, unnamed: list[int]) -> None:
        """Compares with the counts in `closed.json`; `unnamed`: values files with values that no row
        references."""
        bytes_of_values = f"{self.unnamed_bytes:,} bytes of values" + (
            f" from {values_path(self._dir, unnamed[0]).name} on" if unnamed else ""
        )
        if self._closing is None:
            if tail.pending:
                ends = self.damage if tail.broken and not self._live else self.pending
                ends.append(tail.pending)
            elif tail.closed:
                self.pending.append(
                    f"{CLOSED_FILE} is missing, although the statistics are closed: the process was stopped,"
                    " or the file was not copied. The expected number of snapshots is unknown."
                )
            if unnamed:
                why = "their rows are not committed yet or are lost"
                self.pending.append(f"{bytes_of_values} are not referenced: {why}.")
            return
        said, there = self._closing.snapshots, self._snapshots
        if said != there:
            few = f"{said - there:,} are lost" if said > there else "the file lists fewer"
            rest = f", and {bytes_of_values} are not referenced" if unnamed else ""
            cut = f" ({tail.pending})" if tail.pending else ""
            self.damage.append(
                f"{counted(there, 'snapshot')} of {said:,} in {CLOSED_FILE} can be read: "
                f"{few}{rest}{cut}. Copy its stats files again."
            )
        elif tail.pending:
            self.damage.append(tail.pending)
        elif not (tail.closed or self._closing.dropped or self.damage or tail.damage):
            # A worker whose disk failed drops snapshots, and may be closed without the mark.
            name = stats_path(self._dir, tail.position.file).name
            self.damage.append(f"{name} lacks its end mark, although {CLOSED_FILE} is there. Copy it again.")

    def _check_shard(self, number: int) -> None:
        """Checks the header of a values file, and the padding between values, which safetensors readers rely
        on."""
        path = values_path(self._dir, number)
        try:
            with FileReader(path) as file:
                header = file.read(0, HEADER)
                if header[:8].strip(b"\0"):
                    check_header(header, sealed=self._minor >= 1)
                    rest = file.size - HEADER - length_of_data(header)
                    if rest > 0:
                        self.damage.append(f"{path.name}: {rest:,} bytes follow the end given in its header.")
                starts, ends = self._gaps(number, file.size)
                for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
                    if self._minor >= 1 and 0 < end - start < _PADDING and any(file.read(start, end - start)):
                        self.damage.append(f"{path.name}: the padding at byte {start:,} is not zero.")
        except (DamagedError, OSError) as error:
            self.damage.append(f"{path.name}: {error}")

    def _unnamed(self, number: int, size: int) -> int:
        """Bytes of a values file that are neither header nor padding, and that no row references."""
        starts, ends = self._gaps(number, size)
        gaps = ends - starts
        return int(gaps[gaps >= _PADDING].sum())

    def _gaps(self, number: int, size: int) -> tuple[Array, Array]:
        """Where bytes of a values file begin and end that are in no value."""
        pairs = np.frombuffer(self._named.get(number, array("q")), np.int64).reshape(-1, 2)
        inside = (pairs >= 0).all(axis=1) & (pairs <= size).all(axis=1)
        starts, lengths = pairs[inside].T
        order = np.argsort(starts, kind="stable")
        starts = starts[order]
        ends = np.maximum.accumulate(np.concatenate([[HEADER], starts + lengths[order]]))
        return ends, np.concatenate([starts, [size]])


def next_statistics(worker_dir: Path, number: int) -> int | None:
    """The number of the first statistics file above `number`: there may be a gap. Raises OSError."""
    return _least_above(number, [entry.name for entry in scan(worker_dir) if entry.is_file])


def _least_above(number: int, names: Iterable[str]) -> int | None:
    found = (file_number(name, "stats-", ".arrows") for name in names)
    return min((n for n in found if n is not None and n > number), default=None)


_MAX_SENTENCES = 5  # lost values of a file that are reported one by one


class ValueCheck:
    """The values of one worker, checked row by row."""

    def __init__(self, run_dir: Path, worker: str) -> None:
        self.values = 0
        self.value_bytes = 0
        self.pruned = 0
        self._run_dir, self._worker = run_dir, worker
        self._lost: Counter[int] = Counter()  # by values file; -1: of those in rows
        self._sentences: dict[int, list[str]] = {}
        self._missing: dict[int, str] = {}

    def check(self, batch: Any, row: int) -> None:
        """Reads the value of a row, if one is stored."""
        file = batch.column("value_file")[row].as_py()
        try:
            ref = value_ref(self._run_dir, self._worker, batch, row)
            if ref is None:
                return
            read_value(ref)
        except ValuePrunedError:
            self.pruned += 1
            return
        except (DamagedError, OSError) as error:
            self._lose(batch, row, file, error)
            return
        self.values += 1
        self.value_bytes += ref.length

    def _lose(self, batch: Any, row: int, file: int, error: Exception) -> None:
        self._lost[file] += 1
        if self._lost[file] == 1 and file >= 0 and not exists(self._path(file)):
            self._missing[file] = str(error)
        if self._lost[file] > _MAX_SENTENCES or file in self._missing:
            return
        node, slot, step, offset = (
            batch.column(name)[row].as_py() for name in ("node", "slot", "step", "value_offset")
        )
        where = f"{self._path(file).name}, byte {offset:,}" if file >= 0 else "in its row"
        what = f"the value of {tensor_name(node, slot)} at step {step} ({where}) is lost. {error}"
        self._sentences.setdefault(file, []).append(what)

    def _path(self, file: int) -> Path:
        return self._run_dir / self._worker / f"values-{file:06d}.safetensors"

    def damage(self) -> list[str]:
        """Sentences about losses, by file."""
        found = []
        for file, count in sorted(self._lost.items()):
            if file in self._missing:
                found.append(f"{counted(count, 'value')} lost. {self._missing[file]}")
                continue
            found += self._sentences[file]
            if count > _MAX_SENTENCES:
                where = f"in {self._path(file).name}" if file >= 0 else "in rows"
                found.append(f"… and {counted(count - _MAX_SENTENCES, 'value')} more {where}.")
        return found


_FIXED = {1: 8, 5: 4}  # bytes of the wire types of fixed length
_BYTES = 2  # the wire type of what says its length


def check_graph_def(reader: RunReader, graph_id: str) -> None:
    """Reads the GraphDef of a graph, if it has one.

    Raises:
        DamagedError: it is truncated, or is not one.
    """
    try:
        data = read_graph_def(reader.path, graph_id)
    except FileNotFoundError:
        return
    for field, start, end in _fields(data, 0, len(data)):
        if field in (1, 2):  # a node, the library
            for _ in _fields(data, start, end):
                pass


def _fields(data: bytes, at: int, end: int) -> Iterator[tuple[int, int, int]]:
    """(number, begin, end) of the fields of a message."""
    while at < end:
        try:
            key, at = read_varint(data, at, end)
            start = at
            if key & 7 == _BYTES:
                length, start = read_varint(data, at, end)
                at = start + length
            elif key & 7 == 0:
                _, at = read_varint(data, at, end)
            else:
                at += _FIXED.get(key & 7, end)
        except ValueError as error:
            raise _damaged(at) from error
        if at > end or not key >> 3:
            raise _damaged(start)
        yield key >> 3, start, at


def _damaged(at: int) -> DamagedError:
    return DamagedError(f"Its GraphDef is truncated or damaged at byte {at}.", "Copy the .pb file again.")
