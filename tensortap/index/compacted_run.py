"""A run with only `compact/`: its statistics are read from there, some parts at a time."""

from __future__ import annotations

from collections.abc import Iterator
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
    read_manifest,
    read_parquet,
    read_verified,
)
from tensortap.core.errors import DamagedError, FormatVersionError
from tensortap.dump.format.record_batches import check_statistics
from tensortap.dump.format.run_files import WorkerInfo, worker_info
from tensortap.dump.format.schema import SCHEMA
from tensortap.storage.entry import Entry
from tensortap.storage.files import FileReader
from tensortap.storage.filesystem import stat_path

from .catalog.catalog import Catalog
from .catalog.decode import INDEXED_COLUMNS
from .compacted_histograms import CompactedHistograms

_STREAM_BYTES = 64 << 20  # bytes of the streams that parts were made of: some 500,000 snapshots
_MOST_BYTES = 4 << 30  # of a part, decoded
_TEXTS = pa.dictionary(pa.int32(), pa.string())


class CompactedRun:
    """The compacted statistics of a run without streams.

    Attributes:
        damage: sentences about parts that cannot be read.
        checksum: of the manifest.
        parts_read: how many parts the catalog has.
    """

    def __init__(self, run_dir: Path, identity: Entry, checksum: int) -> None:
        self._run_dir, self._identity, self.checksum = run_dir, identity, checksum
        self.parts_read = 0
        self.damage: list[str] = []
        self._manifest = Manifest()
        try:
            self._manifest = read_manifest(run_dir) or Manifest()
        except (DamagedError, FormatVersionError) as error:
            self.damage.append(f"{FOLDER}/{MANIFEST}: {error}")
        self.histograms = CompactedHistograms(run_dir, self._manifest.parts)

    @classmethod
    def find(cls, run_dir: Path) -> CompactedRun | None:
        """Finds the compacted statistics of a run; None if there are none, or if the run has streams."""
        try:
            identity = stat_path(run_dir / FOLDER / MANIFEST)
            if has_streams(run_dir):
                return None
            with FileReader(run_dir / FOLDER / MANIFEST) as file:
                checksum = google_crc32c.value(bytes(file.read(0, file.size)))
        except (OSError, DamagedError):
            return None
        return cls(run_dir, identity, checksum)

    def is_current(self) -> bool:
        """Whether the run is unchanged: neither compacted again nor copied as a whole."""
        try:
            return stat_path(self._run_dir / FOLDER / MANIFEST) == self._identity and not has_streams(
                self._run_dir
            )
        except (OSError, DamagedError):
            return False

    @property
    def state(self) -> dict[str, Any]:
        """How far was read, for `resume`."""
        return {"checksum": self.checksum, "parts_read": self.parts_read, "damage": self.damage}

    def resume(self, state: dict[str, Any]) -> bool:
        """Continues where a saved index ends; False if it was built from another manifest."""
        if state["checksum"] != self.checksum:
            return False
        self.parts_read, self.damage = int(state["parts_read"]), list(map(str, state["damage"]))
        return True

    @property
    def workers(self) -> dict[str, WorkerMark]:
        """How far each worker was compacted."""
        return self._manifest.workers

    def worker_infos(self) -> list[WorkerInfo]:
        """The run's workers, as their files describe them."""
        return [worker_info(name, mark.about) for name, mark in self.workers.items()]

    def progress(self) -> tuple[int, int]:
        """Bytes of parts that were read, and that there are."""
        sizes = [part.rows.size for part in self._manifest.parts]
        return sum(sizes[: self.parts_read]), sum(sizes)

    def read_next(self, catalog: Catalog) -> bool:
        """Adds the next parts to a catalog; False where there are none."""
        for first, stop in self.groups():
            if first == self.parts_read:
                self.damage += self.read_between(catalog, first, stop)
                self.parts_read = stop
                return True
        return False

    def groups(self) -> Iterator[tuple[int, int]]:
        """Parts that are read together: the first, and behind the last."""
        first, size = 0, 0
        for number, part in enumerate(self._manifest.parts):
            if number > first and size + part.bytes > _STREAM_BYTES:
                yield first, number
                first, size = number, 0
            size += part.bytes
        if self._manifest.parts:
            yield first, len(self._manifest.parts)

    def read_between(self, catalog: Catalog, first: int, stop: int) -> list[str]:
        """Adds some parts to a catalog, in the order in which their rows were written, without histograms.

        Returns:
            Sentences about parts that cannot be read.
        """
        tables, damage = [], []
        for part in self._manifest.parts[first:stop]:
            try:
                tables.append(self._rows(part))
            except (DamagedError, OSError) as error:
                damage.append(f"The steps {part.first} to {part.last} cannot be read: {error}")
        if tables:
            self._add(catalog, pa.concat_tables(tables))
        return damage

    def _rows(self, part: CompactedPart) -> pa.Table:
        """The rows of a part.

        Raises:
            DamagedError: a file is damaged, or holds something else. OSError: it cannot be read.
        """
        table = self._table(part.rows, [*INDEXED_COLUMNS, "worker", "seq"], part.snapshots)
        check_statistics(table)
        if not set(pc.unique(table.column("worker")).to_pylist()) <= self.workers.keys():
            raise DamagedError("A row has a worker that is not in the manifest.")
        return table

    def _add(self, catalog: Catalog, table: pa.Table) -> None:
        names = [info.worker for info in sorted(self.worker_infos(), key=_age)]
        worker = pc.index_in(table.column("worker"), pa.array(names)).to_numpy()
        order = np.lexsort((table.column("seq").to_numpy(), worker))
        counts = np.bincount(worker, minlength=len(names))
        there = np.flatnonzero(counts)
        table = table.select(list(INDEXED_COLUMNS)).combine_chunks().take(order)
        catalog.add_compacted(table, [names[number] for number in there.tolist()], counts[there])

    def _table(self, file: CompactFile, names: list[str], rows: int) -> pa.Table:
        """Some columns of a file that was compared with its checksum, with the types of a stream."""
        data = read_verified(self._run_dir, file)
        try:
            metadata = pq.read_metadata(pa.BufferReader(data))
            groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
            if metadata.num_rows != rows or sum(group.total_byte_size for group in groups) > _MOST_BYTES:
                raise DamagedError(f"{file.file} has more rows than its manifest says.")
            table = read_parquet(data, names)
            return pa.table([_like_stream(table.column(name), name) for name in names], names=names)
        except (pa.ArrowException, KeyError, OSError) as error:
            raise DamagedError(f"{file.file} is not a table of statistics: {str(error)[:200]}") from error


def _like_stream(column: pa.ChunkedArray, name: str) -> Any:
    """A column with its type in a stream. Raises DamagedError: it has another content."""
    if column.null_count:
        raise DamagedError(f"The column {name!r} has nulls.")
    kind = SCHEMA.field(name).type if name in SCHEMA.names else pa.string()
    if kind == pa.string():
        column = column.cast(_TEXTS)
        lengths = (pc.binary_length(chunk.dictionary).take(chunk.indices) for chunk in column.chunks)
        if sum(pc.sum(each).as_py() or 0 for each in lengths) > _MOST_BYTES:
            raise DamagedError(f"The column {name!r} has too much text.")
    return column.cast(kind).combine_chunks()


def _age(info: WorkerInfo) -> tuple[Any, str]:
    return info.started, info.worker
