"""Histograms of a compacted run, read from `compact/` when they are requested: they are most of its bytes."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from pathlib import Path

import numpy as np
import pyarrow as pa

from tensortap.compact.manifest import CompactedPart, CompactFile, read_parquet, read_verified, verify
from tensortap.compact.partial_reading import Layout, read_group, read_layout, whole_layout
from tensortap.core.deadline import check_time_limit
from tensortap.core.dtypes import Array
from tensortap.core.errors import DamagedError
from tensortap.dump.format.record_batches import check_statistics
from tensortap.dump.format.schema import HISTOGRAM_COLUMNS
from tensortap.storage.uri import is_remote

from .catalog.byte_cache import ByteCache
from .catalog.catalog import Catalog
from .catalog.decode import decode_histograms
from .catalog.ragged import Ragged

_DECODED_BYTES = 64 << 20  # of cached histograms
_FILE_BYTES = 128 << 20  # of cached remote files
_LAYOUT_BYTES = 96 << 20  # of cached footers, 0.8 MB per million snapshots
_AT_ONCE = 16  # parts that are read from a bucket


class CompactedHistograms:
    """Finds the histograms of rows of a catalog that was read from these parts, all of them. Thread-safe."""

    def __init__(self, run_dir: Path, parts: Sequence[CompactedPart]) -> None:
        self._run_dir, self._parts = run_dir, parts
        counts = np.array([part.snapshots for part in parts], np.int64)
        self._starts = np.cumsum(counts) - counts  # of each part, in the files one after the other
        self._groups = ByteCache[Ragged](_DECODED_BYTES, lambda group: group.nbytes)
        self._files = ByteCache[bytes](_FILE_BYTES, len)
        self._layouts = ByteCache[Layout](_LAYOUT_BYTES, lambda layout: layout.nbytes)

    def __call__(self, catalog: Catalog, rows: Array) -> list[tuple[Array, Array]]:
        """(bucket ids, counts) of each row.

        Raises:
            DamagedError: a file is damaged or missing. OSError: it cannot be read.
        """
        found: list[tuple[Array, Array]] = [(np.zeros(0, np.uint16), np.zeros(0, np.uint8))] * len(rows)
        if not len(rows):
            return found
        place = catalog.parts.column("place", rows, catalog.rows)
        number = np.searchsorted(self._starts, place, "right") - 1
        wanted = [(part, np.flatnonzero(number == part)) for part in np.unique(number).tolist()]

        def read(part: int, at: Array) -> list[tuple[Array, Array]]:
            return self._read(part, place[at] - self._starts[part])

        if is_remote(self._run_dir):  # the parts at the same time: each waits for the network
            with ThreadPoolExecutor(_AT_ONCE) as pool:
                contexts = [copy_context() for _ in wanted]  # with the time limit of this thread
                pieces = list(pool.map(lambda context, each: context.run(read, *each), contexts, wanted))
        else:
            pieces = [read(part, at) for part, at in wanted]
        for (_, at), piece in zip(wanted, pieces, strict=True):
            for position, histogram in zip(at.tolist(), piece, strict=True):
                found[position] = histogram
        return found

    def drop(self) -> None:
        """Forgets what was read."""
        for recent in (self._groups, self._files, self._layouts):
            recent.clear()

    def _read(self, number: int, places: Array) -> list[tuple[Array, Array]]:
        """The histograms at some places of a part."""
        part = self._parts[number]
        try:
            layout = self._layouts.get(number, lambda: self._layout(part))
            of_group = np.searchsorted(layout.stops, places, "right")
            groups = np.unique(of_group).tolist()
            read = {group: self._group(number, group, layout) for group in groups}
        except (pa.ArrowException, KeyError) as error:
            text = f"{part.histograms.file} contains no histograms: {str(error)[:200]}"
            raise DamagedError(text) from error
        within = places - np.append(0, layout.stops[:-1])[of_group]
        return [read[group].row(row) for group, row in zip(of_group.tolist(), within.tolist(), strict=True)]

    def _layout(self, part: CompactedPart) -> Layout:
        file = part.histograms
        layout = read_layout(self._run_dir, file) if file.footer_size else whole_layout(self._whole(file))
        if int(layout.stops[-1] if len(layout.stops) else 0) != part.snapshots:
            raise DamagedError(f"{file.file} does not contain the rows of its part.")
        return layout

    def _group(self, number: int, group: int, layout: Layout) -> Ragged:
        def read() -> Ragged:
            check_time_limit()
            file, columns = self._parts[number].histograms, list(HISTOGRAM_COLUMNS)
            if file.footer_size:
                table = read_group(self._run_dir, file, layout, group, columns)
            else:
                table = read_parquet(self._whole(file), columns, [group])
            check_statistics(table)
            return decode_histograms(table)

        return self._groups.get((number, group), read)

    def _whole(self, file: CompactFile) -> Path | bytes:
        """A file of an earlier release, whose bytes were compared with its checksum, or these."""
        if not is_remote(self._run_dir) and self._run_dir.is_dir():
            return verify(self._run_dir, file)
        return self._files.get(file.file, lambda: read_verified(self._run_dir, file))
