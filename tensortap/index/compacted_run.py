"""A run with only `compact/`: opened from small tables, its rows are read when they are needed."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import google_crc32c
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tensortap.compact.manifest import (
    FOLDER,
    MANIFEST,
    CompactedPart,
    CompactFile,
    Manifest,
    WorkerMark,
    has_streams,
    lacks_manifest,
    parse_manifest,
    read_parquet,
    read_verified,
    split_tables,
)
from tensortap.compact.parts import ROW_COLUMNS
from tensortap.compact.rollups import (
    TENSOR,
    TEXTS,
    count_by_step,
    count_by_tensor,
    count_by_worker,
    list_kinds,
    with_dictionaries,
)
from tensortap.core.deadline import check_time_limit
from tensortap.core.dtypes import Array
from tensortap.core.errors import DamagedError, DeniedError, FormatVersionError
from tensortap.dump.format.record_batches import check_statistics
from tensortap.dump.format.run_files import RunInfo, WorkerInfo, worker_info
from tensortap.dump.format.schema import SCHEMA
from tensortap.storage.entry import Entry
from tensortap.storage.files import FileReader
from tensortap.storage.filesystem import stat_path
from tensortap.storage.uri import is_remote

from .catalog.catalog import Catalog
from .compacted_histograms import CompactedHistograms
from .compacted_rows import FILE_COLUMNS, CompactedRows, RowsCache, Summary

_STREAM_BYTES = 64 << 20  # bytes of the compacted streams: some 500,000 snapshots
_MOST_BYTES = 4 << 30  # of a part, decoded
# Cells (rows by columns) of a file: 14 bytes each in memory, and 8 more of them for each stored byte.
_MOST_CELLS, _CELLS_PER_BYTE = 12 << 20, 8
_FEW = 8  # snapshots per one that is read without the others
_READERS = 16  # files that are read at once: most of the time goes by until a bucket answers
_FIRST = ("first_worker", "first_seq")
_COUNTS_OF_TENSOR = ("snapshots", "nonfinite", "differing")
_COUNTS_OF_STEP = ("snapshots", "nan", "inf", "nonfinite", "partial", "first_time", "last_time")
_COLUMNS = (  # of `tensors`, `steps`, `writers` and `kinds`
    (*TENSOR, *_FIRST, *_COUNTS_OF_TENSOR),
    ("graph", "step", *_COUNTS_OF_STEP),
    ("graph", "worker", "snapshots"),
    ("dtype", "device", "shape", *_FIRST, "snapshots"),
)


class CompactedRun:
    """The compacted statistics of a run without streams.

    Attributes:
        checksum: of the manifest.
        rows: of the parts that can be read, some parts at a time. group_bytes: of these parts' streams.
        is_reading: whether a thread reads all rows.
    """

    def __init__(
        self,
        run_dir: Path,
        identity: Entry | None,
        manifest: bytes,
        refused: DamagedError | None = None,
    ) -> None:
        self._run_dir, self._identity = run_dir, identity
        self.checksum: int = google_crc32c.value(manifest)
        self.rows: list[CompactedRows] = []
        self.is_reading = False
        self._few = threading.Lock()
        self._histograms: CompactedHistograms | None = None
        self._manifest = Manifest()
        self._damage: list[str] = []
        self._tables: dict[str, bytes] = {}  # verified small files, while it is opened
        self.group_bytes = _STREAM_BYTES  # of parts that are read together
        self._damaged: dict[int, str] = {}  # first step of a part -> why it cannot be read
        self._files: dict[Path, Entry | None] = {}  # of parts with damage, as they were found
        try:
            if refused is not None:
                raise refused
            if identity is None:
                raise DamagedError("It is missing.", "Copy compact/ again.")
            self._manifest = parse_manifest(manifest, run_dir / FOLDER / MANIFEST)
        except (DamagedError, FormatVersionError) as error:
            self._damage.append(f"{FOLDER}/{MANIFEST}: {error}")
        self._ages = self._manifest.ages()
        self._infos = [worker_info(name, mark.about) for name, mark in self.workers.items()]

    @classmethod
    def find(cls, run_dir: Path) -> CompactedRun | None:
        """Finds the compacted statistics of a run; None if there are none, or if the run has streams."""
        identity = None
        try:
            identity = _identity(run_dir)
            if identity is None:
                return cls(run_dir, None, b"") if lacks_manifest(run_dir) else None
            if has_streams(run_dir):
                return None
            with FileReader(run_dir / FOLDER / MANIFEST) as file:
                manifest = bytes(file.read(0, file.size))
        except (PermissionError, DeniedError):  # without a word, the run would look empty
            if has_streams(run_dir):
                return None
            return cls(run_dir, identity, b"", DeniedError(MANIFEST if identity else FOLDER))
        except DamagedError as error:  # as of a link, which is not followed
            return None if has_streams(run_dir) else cls(run_dir, identity, b"", error)
        except OSError:
            return None
        return cls(run_dir, identity, manifest)

    def is_current(self) -> bool:
        """Whether the run is unchanged: neither compacted again nor copied as a whole, nor its damaged files
        copied again."""
        if any(_state(path) != found for path, found in self._files.items()):
            return False
        try:
            return _identity(self._run_dir) == self._identity and not has_streams(self._run_dir)
        except (PermissionError, DeniedError):
            return self._identity is None
        except (OSError, DamagedError):
            return False

    def open(self, catalog: Catalog, cache: Path | None = None) -> None:
        """Adds the rows of all parts that can be read to an empty catalog.

        Args:
            cache: folder for rows that were read; None: they stay in memory.
        """
        kept = None if cache is None else RowsCache(cache, self._run_dir, self.checksum)
        parts = list(self._summaries(kept))
        if self._damaged:  # codes are counted without damaged parts
            kept = None
        with catalog.lock:
            self._histograms = CompactedHistograms(self._run_dir, [part for part, _ in parts])
            catalog.compacted_histograms = self._histograms
            for name in self._ages:
                catalog.workers.intern(name)
            self.rows = [CompactedRows(self._read, catalog, some, kept) for some in self._grouped(parts)]

    def _summaries(self, kept: RowsCache | None) -> Iterator[tuple[CompactedPart, Summary]]:
        """The small tables of all parts that can be read, from the cache if it has them."""
        parts = self._manifest.parts
        known = {} if kept is None or self._damaged else kept.summaries()
        if len(known) != len(parts):
            self._read_tables()
            known = {part.first: found for part in parts if (found := self._summary(part)) is not None}
            self._tables = {}
            if kept is not None and not self.damage:
                kept.store_summaries(known)
        return ((part, known[part.first]) for part in parts if part.first in known)

    def _read_tables(self) -> None:
        """Reads the small tables of all parts of a run at an address: from one file, or all at the same
        time."""
        if not is_remote(self._run_dir):
            return
        wanted = self._manifest.opening_files()
        if self._manifest.tables is not None:
            self._read_joined(self._manifest.tables)
        missing = [file for file in wanted if file.file not in self._tables]
        with ThreadPoolExecutor(_READERS) as pool:
            for file, data in zip(missing, pool.map(self._bytes_or_none, missing), strict=True):
                if data is not None:
                    self._tables[file.file] = data

    def _read_joined(self, joined: CompactFile) -> None:
        try:
            data = read_verified(self._run_dir, joined)
        except (DamagedError, OSError) as error:  # the tables have files of their own, too
            self._damage.append(f"{FOLDER}/{joined.file}: {error}")
        else:
            self._tables = {f.file: piece for f, piece in split_tables(data, self._manifest.opening_files())}

    def _bytes_or_none(self, file: CompactFile) -> bytes | None:
        try:
            return read_verified(self._run_dir, file)
        except (DamagedError, OSError):
            return None  # `_summary` reads it again, and reports why

    def _grouped(
        self, parts: Sequence[tuple[CompactedPart, Summary]]
    ) -> Iterator[list[tuple[CompactedPart, Summary]]]:
        """Parts that are read together; of a larger run the first and the last, with which a page begins,
        alone."""
        group: list[tuple[CompactedPart, Summary]] = []
        size = 0
        total = sum(part.bytes for part, _ in parts)
        alone = (1, len(parts) - 1) if total > self.group_bytes else ()
        for number, (part, summary) in enumerate(parts):
            if group and (size + part.bytes > self.group_bytes or number in alone):
                yield group
                group, size = [], 0
            group.append((part, summary))
            size += part.bytes
        if group:
            yield group

    def _summary(self, part: CompactedPart) -> Summary | None:
        """The small tables of a part; None if they cannot be read."""
        if part.first in self._damaged:
            return None
        tables = _tables_of(part)
        try:
            return self._checked_summary(part, None if None in tables else tables)  # None: earlier release
        except (DamagedError, OSError) as error:
            damage = error
        if None not in tables:
            with suppress(DamagedError, OSError):
                found = self._checked_summary(part, None)
                self._remember_files(part)
                self._damage.append(f"A table of the steps {part.first} to {part.last} is damaged: {damage}")
                return found
        self._note_damage(part, damage)
        return None

    def _checked_summary(self, part: CompactedPart, tables: Sequence[CompactFile | None] | None) -> Summary:
        """The small tables of a part; without them they are computed from its rows.

        Raises:
            DamagedError: a table is damaged, or holds something else. OSError: it cannot be read.
        """
        if tables is None:
            rows, names = with_dictionaries(self._table(part.rows, ROW_COLUMNS, part.snapshots)), self._ages
            found = Summary(
                count_by_tensor(rows, names),
                count_by_step(rows),
                count_by_worker(rows),
                list_kinds(rows, names),
            )
        else:
            found = Summary(
                *(
                    self._table(file, columns)
                    for file, columns in zip(tables, _COLUMNS, strict=True)
                    if file is not None
                )
            )
        check_statistics(found.kinds)
        for table in (found.tensors, found.kinds):
            self._check_workers(table, "first_worker")
        self._check_workers(found.writers, "worker")
        for table in found:
            for name in {"slot", "step", "first_seq", *_COUNTS_OF_TENSOR, *_COUNTS_OF_STEP} & {
                *table.column_names
            }:
                if (pc.min(table.column(name)).as_py() or 0) < 0:
                    raise DamagedError(f"The column {name!r} has numbers out of range.")
            if (pc.sum(table.column("snapshots")).as_py() or 0) != part.snapshots:
                raise DamagedError("Its tables have different numbers of snapshots.")
        return found

    def unread_rows_of(self, tensors: Array, catalog: Catalog) -> dict[str, Array] | None:
        """Columns of the snapshots of some tensors (by code), in the order of the catalog, while not all rows
        were read; None if they are too many, or damaged."""
        if not self.unread():
            return None
        if sum(map(catalog.tensors.snapshots.of, tensors.tolist())) * _FEW > catalog.rows:
            return None
        # One caller at a time: each has the files of many parts in memory. By its turn, all may be read.
        with suppress(DamagedError), self._few, ThreadPoolExecutor(_READERS) as pool:
            check_time_limit()
            if not self.unread():
                return None
            found = list(pool.map(lambda rows: rows.decode(tensors), self.rows))
            return {name: np.concatenate([columns[name] for columns in found]) for name in found[0]}
        return None

    def read_on(self, read: Callable[[Sequence[CompactedRows]], None] | None) -> bool:
        """Reads unread rows: all by `read`, if given, or some; returns whether there were any."""
        unread = self.unread()
        if unread and read is not None and not self.is_stale:
            self.is_reading = True
            try:
                read(unread)
            finally:
                self.is_reading = False
        elif unread:
            with suppress(DamagedError):
                unread[0].read()
        return bool(unread)

    def drop_histograms(self) -> None:
        """Forgets histograms that were read."""
        if self._histograms is not None:
            self._histograms.drop()

    def _read(self, part: CompactedPart, wanted: Array | None = None) -> pa.Table:
        """The columns `FILE_COLUMNS` of a part, of the rows in a mask. Raises DamagedError, after which
        `is_stale`."""
        try:
            table = self._table(part.rows, FILE_COLUMNS, part.snapshots, wanted)
            check_statistics(table)
            self._check_workers(table, "worker")
        except (DamagedError, OSError) as error:
            self._note_damage(part, error)
            raise DamagedError(self._damaged[part.first]) from error
        return table

    def _check_workers(self, table: pa.Table, name: str) -> None:
        if not set(pc.unique(table.column(name)).to_pylist()) <= self.workers.keys():
            raise DamagedError("A row names a worker that is not in the manifest.")

    def _note_damage(self, part: CompactedPart, error: Exception) -> None:
        self._damaged[part.first] = f"The steps {part.first} to {part.last} cannot be read: {error}"
        self._remember_files(part)

    def _remember_files(self, part: CompactedPart) -> None:
        """Notices from now on that files of a damaged part are replaced. Not at an address, where each look
        takes a request."""
        if not is_remote(self._run_dir):
            paths = [file.path(self._run_dir) for file in part.files()]
            self._files |= {path: _state(path) for path in paths}

    def note_damage(self, sentences: dict[int, str]) -> None:
        """Notes what another process found: sentences by the first step of a part."""
        self._damaged |= sentences
        for part in self._manifest.parts:
            if part.first in sentences:
                self._remember_files(part)

    @property
    def damaged(self) -> dict[int, str]:
        """Sentences about parts that cannot be read, by first step."""
        return dict(self._damaged)

    @property
    def damaged_files(self) -> list[Path]:
        """Files of parts with damage, on this disk."""
        return list(self._files)

    @property
    def damage(self) -> list[str]:
        """Sentences about what cannot be read."""
        return [*self._damage, *(self._damaged[first] for first in sorted(self._damaged))]

    @property
    def is_stale(self) -> bool:
        """Whether a part turned out to be damaged since it was opened: open it again, without that."""
        return any(part.first in self._damaged for rows in self.rows for part in rows.parts)

    @property
    def workers(self) -> dict[str, WorkerMark]:
        """How far each worker was compacted."""
        return self._manifest.workers

    def damage_of(self, run: RunInfo) -> list[str]:
        """A sentence if the `run.json` beside it is another run's."""
        return self._manifest.damage_of(run)

    def worker_infos(self) -> list[WorkerInfo]:
        """The run's workers, as their files describe them."""
        return self._infos

    def progress(self) -> tuple[int, int]:
        """Bytes of parts that were read, and that there are."""
        read = sum(rows.size for rows in self.rows if rows.is_read)
        return read, sum(rows.size for rows in self.rows)

    def unread(self) -> list[CompactedRows]:
        """Rows that are neither in memory nor in the cache."""
        return [rows for rows in self.rows if not rows.is_read]

    def _table(
        self,
        file: CompactFile,
        names: Sequence[str],
        rows: int | None = None,
        wanted: Array | None = None,
    ) -> pa.Table:
        """Some columns of a file that was compared with its checksum, with the types of a stream."""
        data = self._tables.get(file.file) or read_verified(self._run_dir, file)
        try:
            metadata = pq.read_metadata(pa.BufferReader(data))
            groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
            if rows not in (None, metadata.num_rows) or sum(g.total_byte_size for g in groups) > _MOST_BYTES:
                raise DamagedError(f"{file.file} has more rows than its manifest says.")
            if metadata.num_rows * len(names) > _MOST_CELLS + _CELLS_PER_BYTE * len(data):
                raise DamagedError(f"{file.file} claims {metadata.num_rows:,} rows in {len(data):,} bytes.")
            if wanted is None:
                table = read_parquet(data, names)
            else:
                ends = np.cumsum([group.num_rows for group in groups])
                within = [some.any() for some in np.split(wanted, ends[:-1])]
                chosen = np.flatnonzero(within).tolist()
                table = read_parquet(data, names, chosen).filter(
                    wanted[np.repeat(within, [g.num_rows for g in groups])]
                )
            return pa.table([_like_stream(table.column(name), name) for name in names], names=list(names))
        except (pa.ArrowException, KeyError, OSError) as error:
            raise DamagedError(f"{file.file} is not a table of statistics: {str(error)[:200]}") from error


def _identity(run_dir: Path) -> Entry | None:
    """The manifest of a run, to notice that it is replaced; None if it is missing. Raises OSError,
    DamagedError."""
    try:
        return stat_path(run_dir / FOLDER / MANIFEST)
    except (FileNotFoundError, NotADirectoryError):
        return None


def _state(path: Path) -> Entry | None:
    """The size and time of a file; None if it cannot be looked at."""
    try:
        return stat_path(path)
    except (OSError, DamagedError):
        return None


def _tables_of(part: CompactedPart) -> tuple[CompactFile | None, ...]:
    return part.tensors, part.steps, part.writers, part.kinds


def _like_stream(column: pa.ChunkedArray, name: str) -> Any:
    """A column with its type in a stream, texts with dictionaries. Raises DamagedError: it has another
    content."""
    if column.null_count:
        raise DamagedError(f"The column {name!r} has nulls.")
    kind = SCHEMA.field(name).type if name in SCHEMA.names else pa.int64()
    if kind == pa.string() or name in ("worker", "first_worker"):
        column = column.cast(TEXTS)
        lengths = (pc.binary_length(chunk.dictionary).take(chunk.indices) for chunk in column.chunks)
        if sum(pc.sum(each).as_py() or 0 for each in lengths) > _MOST_BYTES:
            raise DamagedError(f"The column {name!r} has too much text.")
        return column
    return column.cast(kind)
