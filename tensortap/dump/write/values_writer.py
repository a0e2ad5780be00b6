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

    A refused write leaves no trace: the next value is written at its place.

    Attributes:
        number: of the newest shard; one less than `first` where there is none yet.
    """

    def __init__(self, worker_dir: Path, fsync: bool, max_shard: int | None = None, first: int = 0) -> None:
        self._dir = worker_dir
        self._fsync = fsync
        self._max_shard = max_shard
        self.number = first - 1
        self._fd: int | None = None
        self._file = AppendFile(worker_dir)
        self._size = 0  # bytes behind the header
        self._entries: list[str] = []  # members of the header's JSON object
        self._ends: list[int] = []  # of their bytes
        self._header_size = 0

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
        fd, is_idle = self._fd, self._file.written == self._file.size
        if fd is not None and is_idle and not is_same_file(fd, values_path(self._dir, self.number)):
            self.abandon()  # it was removed, or taken for abandoned
        place = self._place(name, len(data), dtype, shape, align)
        if self._is_full(place.entries):
            self.seal()
            place = self._place(name, len(data), dtype, shape, align)
        if self._fd is None:
            self._open()
        with self._forgetting_unwritten():
            if place.start > self._size:
                self._file.append(bytes(place.start - self._size))
            self._file.append(data)
        self._entries += place.entries
        self._ends += [place.start + len(data)] * len(place.entries)
        self._header_size += _cost(place.entries)
        self._size = place.start + len(data)
        return self.number, HEADER + place.start

    def flush(self) -> None:
        """Writes the taken values. Raises OSError."""
        with self._forgetting_unwritten():
            self._file.flush()

    @property
    def writes_ahead(self) -> bool:
        """Whether a `flush` now would wait for the disk, which is busy with large values."""
        return self._file.writes_ahead

    @property
    def end(self) -> tuple[int, int]:
        """Number of the newest shard, and the offset of the next value in it."""
        return self.number, self._file.size

    def holds(self, file: int, end: int) -> bool:
        """Whether the values before an offset of a shard are in the file."""
        return file < self.number or self._fd is None or end <= self._file.written

    @contextlib.contextmanager
    def _forgetting_unwritten(self) -> Iterator[None]:
        try:
            yield
        except OSError:
            count = bisect_right(self._ends, self._file.written - HEADER)
            del self._entries[count:], self._ends[count:]
            self._header_size = _cost(self._entries)
            self._size = self._ends[-1] if self._ends else 0
            self._file.cut(HEADER + self._size)
            raise

    def _place(self, name: str, length: int, dtype: str | None, shape: tuple[int, ...], align: int) -> _Place:
        """Offset of a value appended to this shard; a gap before it gets an entry, too."""
        start = self._size + -self._size % align
        gap = start - self._size
        entries = [_entry(f"__pad__{self._size}", "U8", (gap,), self._size, start)] if gap else []
        entry_shape = shape if dtype else (length,)
        return _Place([*entries, _entry(name, dtype or "U8", entry_shape, start, start + length)], start)

    def sync(self) -> None:
        """Forces the values to disk, if configured."""
        if self._fsync and self._fd is not None:
            os.fsync(self._fd)

    def seal(self) -> None:
        """Completes the shard: then any safetensors reader opens it. May be called again after an OSError."""
        if self._fd is None:
            return
        self.flush()
        truncate(self._fd, HEADER + self._size)  # possible remains of a failed write after the last value
        header = sealed_header(self._entries)
        write_all(self._fd, header[8:], 8)
        self.sync()
        write_all(self._fd, header[:8], 0)
        self.sync()
        self._close()

    def end_segment(self, least: int) -> None:
        """Seals the shard if it has `least` bytes of values. Raises OSError; may be called again."""
        if self._size >= least:
            self.seal()

    @property
    def path(self) -> Path | None:
        """The shard that is being written, if there is one."""
        return None if self._fd is None else values_path(self._dir, self.number)

    def abandon(self) -> None:
        """Closes the shard without sealing it: after a failure, or in a forked child, where it belongs to the
        parent."""
        self._close()
        self._file.end()

    def _close(self) -> None:
        self._file.close()
        self._fd = None
        self._size = self._header_size = 0
        self._entries, self._ends = [], []

    def _is_full(self, more: list[str]) -> bool:
        if not self._entries:
            return False
        too_long = self._header_size + _cost(more) > HEADER_TEXT
        return too_long or self._size >= (self._max_shard or MAX_SHARD) or len(self._entries) >= MAX_TENSORS

    def _open(self) -> None:
        fd = create(values_path(self._dir, self.number + 1))
        self.number += 1
        self._fd = fd
        lock_file(fd)
        with contextlib.suppress(OSError):  # sparse; a reader that looks early finds zeros
            os.ftruncate(fd, HEADER)
        if self._fsync:
            sync_folder(self._dir)
        self._file.open(fd, values_path(self._dir, self.number), HEADER)


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
