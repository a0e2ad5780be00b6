"""Values on their way to the disk: encoded (raw, packed, a sample), then appended to numbered shards.

A shard is a safetensors file whose header is filled in when the shard is full.
"""

from __future__ import annotations

import contextlib
import json
import os
from bisect import bisect_right
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tensortap.core.dtypes import STRING, Array, normalize
from tensortap.core.errors import InvalidValueError
from tensortap.core.sampling import Sample, with_sample
from tensortap.stats.summarize import is_complex
from tensortap.storage.append_file import AppendFile
from tensortap.storage.files import (
    create,
    is_same_file,
    sync_folder,
    truncate,
    write_all,
)
from tensortap.system.locks import lock_file

from ..format import value_codec
from ..format.block_checksums import value_checksums
from ..format.layout import HEADER, HEADER_TEXT, SAFETENSORS, sealed_header, values_path

MAX_SHARD = 64 << 20  # bytes of values after which a shard is sealed
MAX_TENSORS = 1_400
COMPRESS_FROM = 8 << 10  # bytes; what smaller values would save is not worth the time


class ValuesWriter:
    """Appends values to numbered shards. Not thread safe: the caller holds a lock.

    A refused write leaves no trace: the next value is written at its place. The last values of a full shard
    may still be on their way when the next shard begins, unless each commit is forced to the disk (`fsync`)
    or shards are counted for a limit (`max_shard`).

    Attributes:
        number: of the newest shard; one less than `first` where there is none yet.
    """

    def __init__(self, worker_dir: Path, fsync: bool, max_shard: int | None = None, first: int = 0) -> None:
        self._dir = worker_dir
        self._fsync = fsync
        self._max_shard = max_shard
        self.number = first - 1
        self._file = AppendFile(worker_dir)  # has the buffers of all shards
        self._shard: _Shard | None = None
        self._full: _Shard | None = None  # the one before, until it is complete
        # Of full shards whose last values were refused: the offset after the others.
        self._short: dict[int, int] = {}

    def append(
        self, name: str, data: bytes | memoryview, dtype: str | None, shape: tuple[int, ...], align: int
    ) -> tuple[int, int]:
        """Takes one value and returns (file number, absolute offset): it is there once `flush` has returned.

        Args:
            name: entry name, unique in the shard.
            data: the stored bytes.
            dtype: safetensors dtype, or None for an entry of plain bytes.
            shape: the value's shape; used with `dtype` only.
            align: the offset will be a multiple of this.

        Raises:
            OSError: the disk refused; `holds` says which values are there, until the next one is taken.
        """
        if self._full is not None and not self._full.file.has_writes:
            self._complete_full()
        if self._shard is not None and self._shard.was_replaced:
            self._complete_full()
            self._shard.file.close()  # it was removed, or taken for abandoned
            self._shard = None
        shard = self._shard or self._open()
        place = shard.place(name, len(data), dtype, shape, align)
        if self._is_full(shard, place.entries):
            self._end_shard()
            shard = self._open()
            place = shard.place(name, len(data), dtype, shape, align)
        return self.number, shard.take(place, data)

    def flush(self) -> None:
        """Writes the taken values. Raises OSError."""
        self._complete_full()
        if self._shard is not None:
            self._shard.flush()

    @property
    def writes_ahead(self) -> bool:
        """Whether a `flush` now would wait for the disk, which is busy with large values."""
        return self._file.writes_ahead

    @property
    def end(self) -> tuple[int, int]:
        """Number of the newest shard, and the offset of the next value in it."""
        return self.number, 0 if self._shard is None else self._shard.file.size

    def holds(self, file: int, end: int) -> bool:
        """Whether the values before an offset of a shard are in the file."""
        shards = (shard for shard in (self._full, self._shard) if shard is not None)
        written = {shard.number: shard.file.written for shard in shards}
        return end <= written.get(file, self._short.get(file, end))

    def holds_all(self, file: int, end: int) -> bool:
        """Whether these are, and those of earlier shards."""
        full = self._full
        is_ahead = full is not None and full.number < file and full.file.written < full.file.size
        return not is_ahead and self.holds(file, end)

    def sync(self) -> None:
        """Forces the values to disk, if configured."""
        if self._fsync and self._shard is not None:
            os.fsync(self._shard.fd)

    def seal(self) -> None:
        """Completes the shard: then any safetensors reader opens it. May be called again after an OSError."""
        self._complete_full()
        if self._shard is not None:
            self._shard.seal(self._fsync)
            self._shard = None

    def end_segment(self, least: int) -> None:
        """Seals the shard if it has `least` bytes of values. Raises OSError; may be called again."""
        if self._shard is not None and self._shard.size >= least:
            self.seal()

    @property
    def paths(self) -> list[Path]:
        """The shards that are being written."""
        return [shard.path for shard in (self._full, self._shard) if shard is not None]

    def abandon(self) -> None:
        """Closes the shards without sealing: after a failure, or in a forked child, where they belong to the
        parent."""
        for shard in (self._full, self._shard):
            if shard is not None:
                shard.file.close()
        self._full = self._shard = None
        self._file.end()

    def _is_full(self, shard: _Shard, more: list[str]) -> bool:
        if not shard.entries:
            return False
        too_long = shard.header_size + _cost(more) > HEADER_TEXT
        return too_long or shard.size >= (self._max_shard or MAX_SHARD) or len(shard.entries) >= MAX_TENSORS

    def _end_shard(self) -> None:
        """The newest shard is full: the next one begins while the disk is busy with it, if that may be."""
        if self._fsync or self._max_shard is not None:
            self.seal()
        elif self._shard is not None:
            self._complete_full()
            self._shard.start_flush()
            self._full, self._shard = self._shard, None

    def _complete_full(self) -> None:
        """Completes the shard before the newest one. Raises OSError; may be called again."""
        if self._full is None:
            return
        try:
            self._full.seal(self._fsync)
        except OSError:
            self._short[self._full.number] = HEADER + self._full.size
            if self._shard is not None:
                with contextlib.suppress(OSError):  # so that `holds` is true of the values that are fine
                    self._shard.flush()
            raise
        self._full = None

    def _open(self) -> _Shard:
        path = values_path(self._dir, self.number + 1)
        fd = create(path)
        self.number += 1
        lock_file(fd)
        with contextlib.suppress(OSError):  # sparse; a reader that looks early finds zeros
            os.ftruncate(fd, HEADER)
        if self._fsync:
            sync_folder(self._dir)
        file = AppendFile(self._dir, self._file)
        file.open(fd, path, HEADER)
        self._shard = _Shard(self.number, path, fd, file)
        return self._shard


class _Shard:
    """A shard that is being written.

    Attributes:
        size: bytes after the header.
        entries: members of the header's JSON object; `header_size` bytes.
    """

    def __init__(self, number: int, path: Path, fd: int, file: AppendFile) -> None:
        self.number, self.path, self.fd, self.file = number, path, fd, file
        self.size = self.header_size = 0
        self.entries: list[str] = []
        self._ends: list[int] = []  # of their bytes

    @property
    def was_replaced(self) -> bool:
        """Whether nothing waits to be written, and there is another file in its place, or none."""
        return self.file.written == self.file.size and not is_same_file(self.fd, self.path)

    def place(self, name: str, length: int, dtype: str | None, shape: tuple[int, ...], align: int) -> _Place:
        """Offset of a value appended to this shard; a gap before it gets an entry, too."""
        start = self.size + -self.size % align
        gap = start - self.size
        entries = [_entry(f"__pad__{self.size}", "U8", (gap,), self.size, start)] if gap else []
        entry_shape = shape if dtype else (length,)
        return _Place([*entries, _entry(name, dtype or "U8", entry_shape, start, start + length)], start)

    def take(self, place: _Place, data: bytes | memoryview) -> int:
        """Takes a value; returns its absolute offset. Raises OSError."""
        with self._forgetting_unwritten():
            if place.start > self.size:
                self.file.append(bytes(place.start - self.size))
            self.file.append(data)
        self.entries += place.entries
        self._ends += [place.start + len(data)] * len(place.entries)
        self.header_size += _cost(place.entries)
        self.size = place.start + len(data)
        return HEADER + place.start

    def start_flush(self) -> None:
        """Begins to write the taken values; no more are taken. Raises OSError."""
        with self._forgetting_unwritten():
            self.file.start_flush()

    def flush(self) -> None:
        """Writes the taken values. Raises OSError."""
        with self._forgetting_unwritten():
            self.file.flush()

    def seal(self, fsync: bool) -> None:
        """Completes the file and closes it. May be called again after an OSError."""
        self.flush()
        truncate(self.fd, HEADER + self.size)  # possible remains of a failed write after the last value
        header = sealed_header(self.entries)
        write_all(self.fd, header[8:], 8)
        if fsync:
            os.fsync(self.fd)
        write_all(self.fd, header[:8], 0)
        if fsync:
            os.fsync(self.fd)
        self.file.close()

    @contextlib.contextmanager
    def _forgetting_unwritten(self) -> Iterator[None]:
        try:
            yield
        except OSError:
            count = bisect_right(self._ends, self.file.written - HEADER)
            del self.entries[count:], self._ends[count:]
            self.header_size = _cost(self.entries)
            self.size = self._ends[-1] if self._ends else 0
            self.file.cut(HEADER + self.size)
            raise


class _Place(NamedTuple):
    """Header entries of a value and of the gap before it, and where it starts behind the header."""

    entries: list[str]
    start: int


def _cost(entries: list[str]) -> int:
    return sum(map(len, entries)) + len(entries)  # a comma each


def _entry(name: str, dtype: str, shape: tuple[int, ...], start: int, end: int) -> str:
    # A lone surrogate would be escaped, and make the header unreadable for parsers that insist on Unicode.
    text = json.dumps(name.encode("utf-8", "backslashreplace").decode())
    extents = ",".join(map(str, shape))
    return f'{text}:{{"dtype":"{dtype}","shape":[{extents}],"data_offsets":[{start},{end}]}}'


class EncodedValue(NamedTuple):
    """A value ready to be stored, with its checksums (`value_checksums`).

    `entry_dtype` is its safetensors dtype, if it has one.
    """

    data: memoryview | bytes
    codec: str
    crc32c: int
    blocks: tuple[int, ...]
    entry_dtype: str | None
    shape: tuple[int, ...]
    align: int


def encode_value(values: Array, dtype: str, zeros: int, sample: Sample | None = None) -> EncodedValue:
    """The stored form of a normalized array.

    Args:
        values: the array.
        dtype: its logical dtype.
        zeros: how many of its elements are zero; it is compressed where they are more than half, and that
            saves space.
        sample: which elements are stored of a larger array, one-dimensional.
    """
    if sample is not None and sample.count < values.size:
        part = values.reshape(-1)[sample.positions(values.size)]
        encoded = encode_value(part, dtype, int(zeros * part.size / values.size))
        return encoded._replace(codec=with_sample(encoded.codec, sample))
    if dtype == STRING:
        data: memoryview | bytes = value_codec.strings_to_bytes(values)
        return EncodedValue(data, value_codec.RAW, *value_checksums(data), None, values.shape, 8)
    octets: Any = values.reshape(-1).view(np.uint8)
    if octets.nbytes > COMPRESS_FROM and 2 * zeros > values.size:
        item = values.itemsize // 2 if is_complex(dtype) else values.itemsize
        name, packed = value_codec.pack(octets, item, zeros / values.size)
        if len(packed) < octets.nbytes:
            return EncodedValue(packed, name, *value_checksums(packed), None, values.shape, 1)
    crc, blocks = value_checksums(octets)
    entry_dtype = SAFETENSORS.get(dtype)
    return EncodedValue(
        memoryview(octets), value_codec.RAW, crc, blocks, entry_dtype, values.shape, values.itemsize
    )


def encode_kept(kept: Any, sample: Sample, size: int) -> EncodedValue:
    """The stored form of the elements that `sample` selects of a value of `size`.

    Raises:
        InvalidValueError: they are not as many.
    """
    values, dtype = normalize(kept)
    if values.shape != (sample.kept(size),):
        raise InvalidValueError(
            f"A sample of shape {values.shape} is not a sample of {size} elements.",
            f"Pass {sample.kept(size)} elements.",
        )
    encoded = encode_value(values, dtype, 0)
    return encoded._replace(codec=with_sample(encoded.codec, sample))
