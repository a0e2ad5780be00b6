"""Reads values back, whole or in part; everything it returns was verified by a checksum (`ValueReader`)."""

from __future__ import annotations

import math
import struct
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import google_crc32c
import numpy as np
import pyarrow as pa

from tensortap.core.deadline import check_time_limit
from tensortap.core.dtypes import STRING, Array, itemsize, numpy_dtype
from tensortap.core.errors import DamagedError, ValuePrunedError
from tensortap.core.names import is_worker_name
from tensortap.core.sampling import Sample, split_sample
from tensortap.storage.files import FileReader
from tensortap.storage.filesystem import stat_path
from tensortap.storage.uri import is_remote

from ..format.block_checksums import BLOCK, block_count, first_wrong_block
from ..format.layout import is_pruned, values_path
from ..format.value_codec import (
    RAW,
    bytes_to_strings,
    check_ratio,
    chunk_size,
    unpack,
)

# Also the words of `tensortap.index.missing_values` for a value that is known to be pruned.
PRUNED_WHY = "it was removed to save space"
PRUNED_FIX = "Statistics and histogram remain. See keep_last, max_bytes and 'tensortap prune'."
MOST_DIMENSIONS = 64  # NumPy's limit; the shapes of summaries may have more
# Stored bytes of a value without checksums by block (version 1.0) that is read whole, once, to verify a part
# of it: some 20 ms from the page cache. Parts of longer ones are not verified, and marked (`is_verifiable`).
READ_WHOLE = 64 << 20
READ_WHOLE_REMOTE = 4 << 20  # the same of a run at an address
_REMEMBERED = 4096  # verified values

Bytes = bytes | memoryview
Octets = np.ndarray[Any, np.dtype[np.uint8]]
ReadStored = Callable[[int, int], Bytes]


@dataclass(frozen=True, slots=True)
class ValueRef:
    """Location and type of a snapshot's value. `inline` has the stored bytes of small values.

    Of a value that was sampled, `shape` is that of the sample, one-dimensional. `blocks`: checksums of the
    stored bytes by block, where there is more than one; none in a dump of version 1.0.
    """

    run_dir: Path
    worker: str
    file: int
    offset: int
    length: int
    crc32c: int
    codec: str
    dtype: str
    shape: tuple[int, ...]
    inline: bytes | None = None
    sample: Sample | None = None
    blocks: Sequence[int] = ()

    @property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int | None:
        """Decoded bytes; None for strings, whose size is only in the value."""
        return None if self.dtype == STRING else self.size * itemsize(self.dtype)

    @property
    def is_verifiable(self) -> bool:
        """Whether a part of the value can be verified; the whole value always is."""
        limit = READ_WHOLE_REMOTE if is_remote(self.run_dir) else READ_WHOLE
        return bool(self.blocks) or self.length <= limit


def value_ref(run_dir: Path | str, worker: str, batch: pa.RecordBatch, row: int) -> ValueRef | None:
    """The value of row `row` of a commit's batch, or None if only its summary is stored.

    Raises:
        DamagedError: it claims to be a sample and is not one.
    """
    codec = batch.column("value_codec")[row].as_py()
    if not codec:
        return None
    shape = tuple(batch.column("shape")[row].as_py())
    sample, codec = split_sample(codec)
    return ValueRef(
        run_dir=Path(run_dir),
        worker=worker,
        file=batch.column("value_file")[row].as_py(),
        offset=batch.column("value_offset")[row].as_py(),
        length=batch.column("value_length")[row].as_py(),
        crc32c=batch.column("value_crc32c")[row].as_py(),
        codec=codec,
        dtype=batch.column("dtype")[row].as_py(),
        shape=shape if sample is None else (sample.kept(math.prod(shape)),),
        inline=batch.column("value")[row].as_py(),
        sample=sample,
        blocks=batch.column("value_blocks")[row].values.to_numpy().tolist(),
    )


def read_value(ref: ValueRef) -> Array:
    """The whole array, its checksum verified; text comes back as an object array of `bytes`.

    Raises:
        DamagedError: the stored bytes are missing, damaged, or do not fit the dtype and shape.
        InvalidValueError: the dtype is unknown here.
    """
    dtype = numpy_dtype(ref.dtype)
    octets = _read_whole(ref)
    if ref.dtype == STRING:
        return bytes_to_strings(octets.tobytes(), ref.size).reshape(ref.shape)
    if ref.codec != RAW:
        stored = octets.data
        raw = _unpack(ref, lambda start, length: stored[start : start + length], 0, ref.nbytes or 0)
        octets = np.frombuffer(raw, np.uint8)
    array: Array = octets.view(dtype).reshape(ref.shape)
    return array


def read_stored(ref: ValueRef) -> bytes:
    """All stored bytes of a value, verified. Raises DamagedError: they are missing, or damaged."""
    return _read_whole(ref).tobytes()


def _read_whole(ref: ValueRef) -> Octets:
    check_shape(ref)
    with _Stored(ref) as stored:
        stored.check(0, ref.length)  # before so much is allocated
        octets = np.empty(ref.length, np.uint8)
        checksum = 0
        for at in range(0, ref.length, stored.piece):
            check_time_limit()
            piece = octets[at : at + stored.piece]
            stored.read_into(at, piece)
            checksum = google_crc32c.extend(checksum, piece)
    if checksum != ref.crc32c:
        raise _wrong(ref)
    return octets


def check_shape(ref: ValueRef) -> None:
    """Refuses impossible shapes, before anything is allocated for them.

    Raises:
        DamagedError: the shape does not fit the stored bytes, or is impossible for an array.
    """
    if any(extent < 0 for extent in ref.shape):
        raise DamagedError("A shape has a negative number.")
    if len(ref.shape) > MOST_DIMENSIONS:
        raise DamagedError(
            f"A value has {len(ref.shape)} dimensions; the maximum is {MOST_DIMENSIONS}.",
            "Its statistics are still valid.",
        )
    if ref.codec == RAW and ref.dtype != STRING and ref.nbytes != ref.length:
        raise DamagedError(f"A value in {_where(ref)} has {ref.length} bytes; its shape needs {ref.nbytes}.")
    if chunk_size(ref.codec) and ref.dtype != STRING:
        check_ratio(ref.nbytes or 0, ref.length)


class ValueReader:
    """Reads parts of one value: a context manager that keeps its file open.

    Each part is verified: by the blocks that it is in, or, in dumps of version 1.0, by reading the value
    whole once, if it has at most `READ_WHOLE` bytes. Parts of others are not (`ValueRef.is_verifiable`).

    Args:
        at_any_length: long values of version 1.0 are read whole, too.

    Raises:
        DamagedError: the shape is impossible, or the bytes are not there.
        ValuePrunedError: the value was removed to save space.
    """

    def __init__(self, ref: ValueRef, *, at_any_length: bool = False) -> None:
        check_shape(ref)
        self._ref = ref
        self._at_any_length = at_any_length
        self._stored = _Stored(ref)
        self._block: Octets | None = None  # the last verified one
        self._number = -1  # its number
        self._frames: list[int] | None = None  # where each compressed chunk begins
        self._is_sound = False  # as a whole

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self._stored.__exit__(*exc)

    def read(self, start: int, length: int) -> Bytes:
        """Decoded bytes `start` … `start + length`.

        Raises:
            DamagedError: the value does not reach that far, or does not match its checksum there.
        """
        check_time_limit()
        if self._ref.codec == RAW:
            return self._verified(start, length)
        if self._frames is None:
            self._frames = _frame_offsets(self._ref, self._verified)
        return bytes(_unpack(self._ref, self._verified, start, length, self._frames))

    def read_into(self, start: int, octets: Octets) -> None:
        """`read` into a uint8 array, from `start` on."""
        if self._ref.codec == RAW:
            check_time_limit()
            self._stored.check(start, octets.size)
            self._fill(start, octets)
        else:
            octets[...] = np.frombuffer(self.read(start, octets.size), np.uint8)

    def _verified(self, start: int, length: int) -> memoryview:
        """Stored bytes `start` … `start + length`."""
        self._stored.check(start, length)
        octets = np.empty(length, np.uint8)
        self._fill(start, octets)
        return octets.data

    def _fill(self, start: int, octets: Octets) -> None:
        ref = self._ref
        if not ref.blocks and ref.length > BLOCK:
            self._verify_whole()
            self._stored.read_into(start, octets)
            return
        at, stop = start, start + octets.size
        if at < stop and at % BLOCK:
            at = self._copy_from_block(at, start, octets)
        whole = stop if stop == ref.length else stop // BLOCK * BLOCK
        step = max(self._stored.piece // BLOCK, 1) * BLOCK
        while at < whole:
            piece = octets[at - start : min(at + step, whole) - start]
            self._stored.read_into(at, piece)
            self._compare(piece, at // BLOCK)
            at += piece.size
        if at < stop:
            self._copy_from_block(at, start, octets)

    def _copy_from_block(self, at: int, start: int, octets: Octets) -> int:
        """Copies from the block at `at`, up to its end or that of `octets`; returns the new position."""
        number = at // BLOCK
        first = number * BLOCK
        if self._number != number or self._block is None:
            block = np.empty(min(BLOCK, self._ref.length - first), np.uint8)
            self._stored.read_into(first, block)
            self._compare(block, number)
            self._block, self._number = block, number
        stop = min(first + self._block.size, start + octets.size)
        octets[at - start : stop - start] = self._block[at - first : stop - first]
        return stop

    def _compare(self, octets: Octets, first: int) -> None:
        """Compares whole blocks, from block `first` on, with their checksums."""
        ref = self._ref
        if len(ref.blocks) != block_count(ref.length):
            raise DamagedError(f"A value in {_where(ref)} does not have one checksum per block.")
        wrong = first_wrong_block(octets, first, ref.blocks or (ref.crc32c,))
        if wrong is not None:
            raise _wrong(ref, f"in bytes {wrong * BLOCK:,} to {min((wrong + 1) * BLOCK, ref.length):,}")

    def _verify_whole(self) -> None:
        """Reads a value of version 1.0 once, unless it is too long, or this process found it sound before."""
        ref = self._ref
        if self._is_sound or not (self._at_any_length or ref.is_verifiable):
            return
        key = _identity(ref)
        if key not in _SOUND:
            _verify(ref)
            _SOUND.add(key)
        self._is_sound = True


def _verify(ref: ValueRef) -> None:
    """Reads all stored bytes of a value, piece by piece. Raises DamagedError."""
    with _Stored(ref) as stored:
        stored.check(0, ref.length)
        octets = np.empty(min(ref.length, stored.piece), np.uint8)
        checksum = 0
        for at in range(0, ref.length, stored.piece):
            check_time_limit()
            piece = octets[: ref.length - at]
            stored.read_into(at, piece)
            checksum = google_crc32c.extend(checksum, piece)
    if checksum != ref.crc32c:
        raise _wrong(ref)


class _Stored:
    """The stored bytes of a value, in its row or in a file, which stays open."""

    def __init__(self, ref: ValueRef) -> None:
        self._ref = ref
        self._file = _open(ref) if ref.inline is None else None
        if ref.inline is not None and len(ref.inline) != ref.length:
            raise DamagedError("A value in a statistics row has the wrong length.")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        if self._file is not None:
            self._file.__exit__(*exc)

    @property
    def piece(self) -> int:
        """As `FileReader.piece`."""
        return BLOCK if self._file is None else self._file.piece

    def check(self, start: int, length: int) -> None:
        """Raises DamagedError if bytes `start` … `start + length` are not in the value or its file."""
        if start < 0 or length < 0 or start + length > self._ref.length:
            what = f"Bytes {start} to {start + length} are not in a value of {self._ref.length} bytes."
            raise DamagedError(what)
        if self._file is not None:
            self._file.check_there(self._ref.offset + start, length)

    def read_into(self, start: int, octets: Octets) -> None:
        """Fills `octets` with the bytes from `start` on."""
        if self._file is None:
            octets[...] = np.frombuffer(self._ref.inline or b"", np.uint8)[start : start + octets.size]
        else:
            self._file.read_into(self._ref.offset + start, octets.data)


def _where(ref: ValueRef) -> str:
    return (
        "a statistics row"
        if ref.inline is not None
        else f"{ref.worker}/{values_path(ref.run_dir, ref.file).name}"
    )


def _wrong(ref: ValueRef, part: str = "") -> DamagedError:
    what = f"A value in {_where(ref)} does not match its checksum{part and f' {part}'}."
    return DamagedError(what, "Its statistics are still valid.")


def _path(ref: ValueRef) -> Path:
    if not is_worker_name(ref.worker) or not 0 <= ref.file < 1_000_000:
        raise DamagedError(f"Worker {ref.worker[:80]!r} or values file {ref.file} is not a valid name.")
    return values_path(ref.run_dir / ref.worker, ref.file)


def _open(ref: ValueRef) -> FileReader:
    path = _path(ref)
    try:
        return FileReader(path)
    except FileNotFoundError as error:
        if is_pruned(path):
            raise ValuePrunedError(
                f"The value was pruned: {PRUNED_WHY}.",
                PRUNED_FIX,
            ) from error
        raise DamagedError(f"{path.name} is missing.", "Copy the run again, with all its files.") from error


class _SoundValues:
    """The values of version 1.0 that were found sound last, by file and its time of change. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: OrderedDict[tuple[object, ...], None] = OrderedDict()

    def __contains__(self, key: tuple[object, ...]) -> bool:
        with self._lock:
            return key in self._known

    def add(self, key: tuple[object, ...]) -> None:
        with self._lock:
            self._known[key] = None
            while len(self._known) > _REMEMBERED:
                self._known.popitem(last=False)


_SOUND = _SoundValues()


def _identity(ref: ValueRef) -> tuple[object, ...]:
    path = _path(ref)
    entry = stat_path(path)
    return path, entry.inode, entry.mtime_ns, entry.size, ref.offset, ref.length, ref.crc32c


def _unpack(
    ref: ValueRef, stored: ReadStored, start: int, length: int, frames: list[int] | None = None
) -> bytearray:
    """Raw bytes of a value in chunks: only the chunks with them are read and decoded."""
    chunk = chunk_size(ref.codec)
    raw = ref.nbytes or 0
    if start < 0 or length < 0 or start + length > raw:
        raise DamagedError(f"Bytes {start} to {start + length} are not in a value of {raw} bytes.")
    frames = _frame_offsets(ref, stored) if frames is None else frames
    out = bytearray()
    for i in range(start // chunk, -(-(start + length) // chunk)):
        check_time_limit()
        frame = stored(frames[i], frames[i + 1] - frames[i])
        data = unpack(ref.codec, frame, min(chunk, raw - i * chunk))
        out += data[max(0, start - i * chunk) : start + length - i * chunk]
    return out


def _frame_offsets(ref: ValueRef, stored: ReadStored) -> list[int]:
    count = -(-(ref.nbytes or 0) // chunk_size(ref.codec))
    head = 4 * (count + 1)
    numbers = struct.unpack(f"<{count + 1}I", stored(0, head))
    offsets = [head]
    for length in numbers[1:]:
        offsets.append(offsets[-1] + length)
    if numbers[0] != count or offsets[-1] != ref.length:
        raise DamagedError(f"The chunk table of a value in {_where(ref)} is invalid.")
    return offsets
