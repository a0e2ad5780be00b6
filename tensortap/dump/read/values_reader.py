"""Reads values back: whole and checked, or only the bytes a slice needs."""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass
from pathlib import Path

import google_crc32c
import numpy as np
import pyarrow as pa

from tensortap.core.deadline import check_time_limit
from tensortap.core.dtypes import STRING, Array, itemsize, numpy_dtype
from tensortap.core.errors import DamagedError, ValuePrunedError
from tensortap.core.names import is_worker_name
from tensortap.core.sampling import Sample, split_sample
from tensortap.storage.files import FileReader

from ..format.layout import is_pruned, values_path
from ..format.value_codec import (
    RAW,
    bytes_to_strings,
    check_ratio,
    chunk_size,
    unpack,
)

MOST_DIMENSIONS = 64  # NumPy's limit; the shapes of summaries may have more


@dataclass(frozen=True, slots=True)
class ValueRef:
    """Where a snapshot's value is stored, and what it is. `inline` holds the stored bytes of small ones.

    Of a value that was sampled, `shape` is that of the sample, one-dimensional.
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

    @property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int | None:
        """Decoded bytes; None for strings, where only the value knows."""
        return None if self.dtype == STRING else self.size * itemsize(self.dtype)


def value_ref(run_dir: Path | str, worker: str, batch: pa.RecordBatch, row: int) -> ValueRef | None:
    """The value of row `row` of a commit's batch, or None if only its summary was kept.

    Raises:
        DamagedError: it claims to be a sample and is none.
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
    )


def read_value(ref: ValueRef) -> Array:
    """The whole array, its checksum verified; text comes back as an object array of `bytes`.

    Raises:
        DamagedError: the stored bytes are missing, damaged, or do not fit the dtype and shape.
        InvalidValueError: the dtype is not known here.
    """
    dtype = numpy_dtype(ref.dtype)
    _check_shape(ref)
    stored = _stored(ref, 0, ref.length)
    if google_crc32c.value(stored) != ref.crc32c:
        raise DamagedError(
            f"A value in {_where(ref)} does not match its checksum.", "Its statistics are still good."
        )
    if ref.dtype == STRING:
        return bytes_to_strings(stored, ref.size).reshape(ref.shape)
    data: bytes | bytearray = stored if ref.codec == RAW else _unpack(ref, 0, ref.nbytes or 0)
    if len(data) != ref.nbytes:
        raise DamagedError(
            f"A value in {_where(ref)} has {len(data)} bytes; its shape asks for {ref.nbytes}."
        )
    array = np.frombuffer(bytearray(data) if isinstance(data, bytes) else data, dtype)
    return array.reshape(ref.shape)


def read_bytes(ref: ValueRef, start: int, length: int) -> bytes:
    """Decoded bytes `start` … `start + length` of a value; no more is read, so the checksum is not checked.

    Raises:
        DamagedError: the value does not reach that far, or its compressed form is damaged.
    """
    check_time_limit()
    _check_shape(ref)
    if ref.codec == RAW:
        return _stored(ref, start, length)
    return bytes(_unpack(ref, start, length))


def _check_shape(ref: ValueRef) -> None:
    if any(extent < 0 for extent in ref.shape):
        raise DamagedError("A shape holds a negative number.")
    if len(ref.shape) > MOST_DIMENSIONS:
        raise DamagedError(
            f"A value has {len(ref.shape)} dimensions, arrays {MOST_DIMENSIONS} at most.",
            "Its statistics are still good.",
        )
    if ref.codec == RAW and ref.dtype != STRING and ref.nbytes != ref.length:
        raise DamagedError(
            f"A value in {_where(ref)} has {ref.length} bytes; its shape asks for {ref.nbytes}."
        )
    if chunk_size(ref.codec) and ref.dtype != STRING:
        check_ratio(ref.nbytes or 0, ref.length)


def _where(ref: ValueRef) -> str:
    return (
        "a statistics row"
        if ref.inline is not None
        else f"{ref.worker}/{values_path(ref.run_dir, ref.file).name}"
    )


def _stored(ref: ValueRef, start: int, length: int) -> bytes:
    """Stored bytes `start` … `start + length`."""
    if start < 0 or length < 0 or start + length > ref.length:
        raise DamagedError(f"Bytes {start} to {start + length} are not in a value of {ref.length}.")
    if ref.inline is not None:
        if len(ref.inline) != ref.length:
            raise DamagedError("A value in a statistics row has another length than the row says.")
        return ref.inline[start : start + length]
    if not is_worker_name(ref.worker) or not 0 <= ref.file < 1_000_000:
        raise DamagedError(f"Values file {ref.file} of {ref.worker[:80]!r} cannot exist.")
    path = values_path(ref.run_dir / ref.worker, ref.file)
    try:
        with FileReader(path) as file:
            return file.read_exactly(ref.offset + start, length)
    except FileNotFoundError as error:
        if is_pruned(path):
            raise ValuePrunedError(
                "The value was pruned: it was removed to save space.",
                "Its statistics and histogram stay; keep_last, max_bytes and tensortap prune say how much is"
                " kept.",
            ) from error
        raise DamagedError(f"{path.name} is missing.", "Copy the run again, with all its files.") from error


def _unpack(ref: ValueRef, start: int, length: int) -> bytearray:
    """Raw bytes of a value in chunks: only the chunks that hold them are read and decoded."""
    chunk = chunk_size(ref.codec)
    raw = ref.nbytes or 0
    if start < 0 or length < 0 or start + length > raw:
        raise DamagedError(f"Bytes {start} to {start + length} are not in a value of {raw}.")
    frames = _frame_offsets(ref, -(-raw // chunk))
    out = bytearray()
    for i in range(start // chunk, -(-(start + length) // chunk)):
        check_time_limit()
        data = unpack(
            ref.codec, _stored(ref, frames[i], frames[i + 1] - frames[i]), min(chunk, raw - i * chunk)
        )
        out += data[max(0, start - i * chunk) : start + length - i * chunk]
    return out


def _frame_offsets(ref: ValueRef, count: int) -> list[int]:
    head = 4 * (count + 1)
    numbers = struct.unpack(f"<{count + 1}I", _stored(ref, 0, head))
    offsets = [head]
    for length in numbers[1:]:
        offsets.append(offsets[-1] + length)
    if numbers[0] != count or offsets[-1] != ref.length:
        raise DamagedError(f"The chunk table of a value in {_where(ref)} makes no sense.")
    return offsets
