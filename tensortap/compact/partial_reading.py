"""Parts of a Parquet file, each verified by its own checksum: a tensor's histograms without all the others.

The manifest has the checksum of the file's footer, and the footer those of the row groups (FORMAT.md).
"""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import google_crc32c
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tensortap.core.dtypes import Array, Ints
from tensortap.core.errors import DamagedError
from tensortap.storage.files import FileReader
from tensortap.storage.uri import shown_path

from .manifest import CompactFile

_GROUPS = b"tensortap groups"


def write_groups(path: Path, table: pa.Table, rows: int, order: Array | None = None) -> tuple[int, int]:
    """Writes a Parquet file of row groups of `rows` rows; texts that are dictionaries stay so.

    Args:
        order: [rows of the table], the rows as they are written; None: as they are.

    Returns:
        Size in bytes and CRC-32C of the footer.

    Raises:
        OSError: the disk refused.
    """
    texts = [field.name for field in table.schema if pa.types.is_dictionary(field.type)]
    # Elements of lists repeat, too: buckets are read in two thirds of the time.
    repeated = [f"{field.name}.list.element" for field in table.schema if pa.types.is_list(field.type)]
    with path.open("w+b") as file:
        with pq.ParquetWriter(
            file,
            table.schema,
            compression="zstd",
            use_dictionary=[*texts, *repeated],
            write_statistics=[field.name for field in table.schema if not pa.types.is_list(field.type)],
            store_schema=False,
        ) as writer:
            bounds = [file.tell()]
            for at in range(0, table.num_rows, rows):
                group = table.slice(at, rows) if order is None else table.take(order[at : at + rows])
                writer.write_table(group)
                bounds.append(file.tell())
            sums = []
            for start, stop in pairwise(bounds):
                file.seek(start)
                sums.append(google_crc32c.value(file.read(stop - start)))
            file.seek(bounds[-1])
            writer.add_key_value_metadata({_GROUPS: json.dumps({"bounds": bounds, "crc32c": sums})})
        size = file.tell() - bounds[-1]
        file.seek(bounds[-1])
        return size, google_crc32c.value(file.read(size))


@dataclass(frozen=True, slots=True)
class Layout:
    """The footer of a Parquet file.

    `stops`: int64 [groups], the row behind each row group. `bounds`: [groups + 1], the bytes where they begin
    and where the last one ends. `sums`: [groups], their CRC-32C.
    """

    metadata: pq.FileMetaData
    stops: Ints
    bounds: Sequence[int] = ()
    sums: Sequence[int] = ()


def read_layout(run_dir: Path, file: CompactFile) -> Layout:
    """The verified footer of a file with checksums of its row groups.

    Raises:
        DamagedError: it is damaged or missing. OSError: it cannot be read.
    """
    footer = _read(run_dir, file, file.size - file.footer_size, file.footer_size, file.footer_crc32c)
    layout = whole_layout(footer)
    groups = json.loads((layout.metadata.metadata or {}).get(_GROUPS, "{}"))
    bounds, sums = groups.get("bounds", ()), groups.get("crc32c", ())
    if len(bounds) - 1 != len(sums) or len(sums) != len(layout.stops):
        raise DamagedError(f"{file.file} does not have the checksums of its row groups.")
    return replace(layout, bounds=bounds, sums=sums)


def whole_layout(source: Path | bytes) -> Layout:
    """The layout of a file that was verified as a whole, or of a footer; without bounds and sums."""
    metadata = pq.read_metadata(pa.BufferReader(source) if isinstance(source, bytes) else source)
    rows = [metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)]
    return Layout(metadata, np.cumsum(rows))


def read_group(run_dir: Path, file: CompactFile, layout: Layout, group: int, columns: list[str]) -> pa.Table:
    """Some columns of a row group, verified. Raises as `read_layout`."""
    start, stop = layout.bounds[group : group + 2]
    data = _read(run_dir, file, start, stop - start, layout.sums[group])
    with pq.ParquetFile(_Part(data, start, file.size), metadata=layout.metadata) as opened:
        return opened.read_row_group(group, columns)


def _read(run_dir: Path, file: CompactFile, start: int, size: int, crc32c: int) -> bytes:
    path = file.path(run_dir)
    try:
        with FileReader(path) as source:
            data = source.read_exactly(start, size) if source.size == file.size else b""
    except (FileNotFoundError, DamagedError):
        data = b""
    if len(data) != size or google_crc32c.value(data) != crc32c:
        hint = f"Rebuild it with: tensortap compact {shown_path(run_dir)} --rebuild"
        raise DamagedError(f"{shown_path(path)} is damaged or missing.", hint)
    return data


class _Part(io.RawIOBase):
    """Bytes of a larger file of `size` bytes, from `start` on, at their place."""

    def __init__(self, data: bytes, start: int, size: int) -> None:
        self._data, self._start, self._size = data, start, size
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self._at = offset + (0, self._at, self._size)[whence]
        return self._at

    def read(self, size: int = -1) -> Any:
        first = self._at - self._start
        found = self._data[first : first + size] if first >= 0 else b""
        self._at += len(found)
        return found
