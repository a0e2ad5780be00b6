"""Parts of a Parquet file, each verified by its own checksum: a tensor's histograms without all the others.

The manifest has the checksum of the file's footer, and the footer those of the row groups (FORMAT.md).
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tensortap.core.dtypes import Array, Ints
from tensortap.core.errors import DamagedError
from tensortap.storage.files import FileReader, crc32c
from tensortap.storage.uri import shown_path

from .manifest import CompactFile

_GROUPS = b"tensortap groups"
_PARSED = 9  # bytes of memory per byte of a footer


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
                sums.append(crc32c(file.read(stop - start)))
            file.seek(bounds[-1])
            writer.add_key_value_metadata({_GROUPS: json.dumps({"bounds": bounds, "crc32c": sums})})
        size = file.tell() - bounds[-1]
        file.seek(bounds[-1])
        return size, crc32c(file.read(size))


@dataclass(frozen=True, slots=True)
class Layout:
    """The footer of a Parquet file.

    `stops`: int64 [groups], the row behind each row group. `bounds`: [groups + 1], the bytes where they begin
    and where the last one ends. `sums`: [groups], their CRC-32C. `metadata`: parsed, or None: then it is
    parsed for a row group at a time from the bytes `footer`, in which the groups begin at `starts`.
    """

    stops: Ints
    bounds: Sequence[int] = ()
    sums: Sequence[int] = ()
    metadata: pq.FileMetaData | None = None
    footer: bytes = b""
    starts: Sequence[int] = ()

    @property
    def nbytes(self) -> int:
        """About how many bytes of memory it takes."""
        parsed = 0 if self.metadata is None else self.metadata.serialized_size * _PARSED
        return int(len(self.footer) + parsed + 24 * len(self.stops))

    def part_of(self, group: int) -> tuple[pq.FileMetaData, int]:
        """Metadata with a row group, and its number there."""
        if self.metadata is not None:
            return self.metadata, group
        return _one_group(self.footer, self.starts, group), 0


def read_layout(run_dir: Path, file: CompactFile) -> Layout:
    """The verified footer of a file with checksums of its row groups.

    Raises:
        DamagedError: it is damaged or missing. OSError: it cannot be read.
    """
    footer = _read(run_dir, file, file.size - file.footer_size, file.footer_size, file.footer_crc32c)
    at = footer.rfind(_GROUPS)
    text = footer[footer.find(b"{", at) :].decode("latin-1") if at >= 0 else "{}"
    groups = json.JSONDecoder().raw_decode(text)[0]
    bounds, sums = groups.get("bounds", ()), groups.get("crc32c", ())
    layout = _unparsed(footer, len(sums)) or whole_layout(footer)
    if len(bounds) - 1 != len(sums) or len(sums) != len(layout.stops):
        raise DamagedError(f"{file.file} does not have the checksums of its row groups.")
    return replace(layout, bounds=bounds, sums=sums)


def whole_layout(source: Path | bytes) -> Layout:
    """The layout of a file that was verified as a whole, or of a footer; without bounds and sums."""
    metadata = pq.read_metadata(pa.BufferReader(source) if isinstance(source, bytes) else source)
    rows = [metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)]
    return Layout(np.cumsum(rows), metadata=metadata)


def _unparsed(footer: bytes, groups: int) -> Layout | None:
    """The layout of equal row groups, the last one smaller; None where this does not find them.

    Parsing a footer takes 3 ms and 5 MB per 800 row groups, and a tensor's histograms need a few groups of
    each part. In Thrift's compact protocol, all row groups begin with the same bytes.
    """
    size = bytes([groups << 4 | 12]) if groups < 15 else b"\xfc" + _varint(groups)
    first = footer.find(b"\x19" + size + b"\x19", _thrift(footer)) + 1 + len(size)
    mark = re.escape(footer[first : first + 3])
    starts = [found.start() for found in re.compile(mark, re.DOTALL).finditer(footer, first)]
    if len(starts) != groups or not groups or starts[0] != first:
        return None
    ends = [_one_group(footer, starts, group) for group in (0, groups - 1)]
    rows, total = ends[0].row_group(0).num_rows, ends[0].num_rows
    if ends[1].row_group(0).num_rows != total - rows * (groups - 1):
        return None
    stops = np.minimum(np.arange(1, groups + 1) * rows, total)
    return Layout(stops, footer=footer, starts=starts)


def _one_group(footer: bytes, starts: Sequence[int], group: int) -> pq.FileMetaData:
    """The metadata of a file as if it had only one of its row groups."""
    size = 1 if len(starts) < 15 else 1 + len(_varint(len(starts)))
    head = footer[_thrift(footer) : starts[0] - size - 1]
    if group + 1 < len(starts):
        thrift = head + b"\x19\x1c" + footer[starts[group] : starts[group + 1]] + b"\0"
    else:
        thrift = head + b"\x19\x1c" + footer[starts[group] : -8]
    return pq.read_metadata(pa.BufferReader(thrift + len(thrift).to_bytes(4, "little") + b"PAR1"))


def _thrift(footer: bytes) -> int:
    """Where the metadata begin in a footer."""
    return len(footer) - 8 - int.from_bytes(footer[-8:-4], "little")


def _varint(number: int) -> bytes:
    found = b""
    while number > 127:
        found += bytes([number & 127 | 128])
        number >>= 7
    return found + bytes([number])


def read_group(run_dir: Path, file: CompactFile, layout: Layout, group: int, columns: list[str]) -> pa.Table:
    """Some columns of a row group, verified. Raises as `read_layout`."""
    start, stop = layout.bounds[group : group + 2]
    data = _read(run_dir, file, start, stop - start, layout.sums[group])
    metadata, number = layout.part_of(group)
    with pq.ParquetFile(_Part(data, start, file.size), metadata=metadata) as opened:
        table = opened.read_row_group(number, columns, use_threads=False)
    before = layout.stops[group - 1] if group else 0
    if table.num_rows != layout.stops[group] - before:
        raise DamagedError(f"{file.file} has another number of rows than its footer says.")
    return table


def _read(run_dir: Path, file: CompactFile, start: int, size: int, checksum: int) -> bytes:
    path = file.path(run_dir)
    try:
        with FileReader(path) as source:
            data = source.read_exactly(start, size) if source.size == file.size else b""
    except (FileNotFoundError, DamagedError):
        data = b""
    if len(data) != size or crc32c(data) != checksum:
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
