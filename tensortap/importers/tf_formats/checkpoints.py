"""Checkpoints of TF2 and TF1: one, or a directory of them as steps.

A checkpoint is a tensor bundle: an `.index` table (`leveldb_table`), and `.data-…` files with the bytes.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path, PurePath
from typing import Any

import numpy as np

from tensortap.core.dtypes import Array, numpy_dtype
from tensortap.tfproto.proto_classes import Message
from tensortap.tfproto.tensor_proto import data_type_name, proto_shape
from tensortap.tfproto.tfrecord import masked_crc32c

from ..arrays.stored_array import StoredArray, from_bytes, step_in, without_step, write_arrays
from ..errors import RefusedError
from ..run_builder import RunBuilder, check_array_size
from ..safe_io import ByteBudget, file_size, open_file, read_range, read_whole
from .leveldb_table import MAGIC, entries
from .protos import parse, read_varint

SLICE_KEY = b"\0"  # that the keys of slices begin with, and no name does
_ALL = -1  # TensorFlow's length of a slice that has all of an extent
_ESCAPES = {0: b"\0\xff", 255: b"\xff\0"}
MAX_SLICES = 100_000
Extents = tuple[tuple[int, int], ...]  # start and length in each dimension
MAX_INDEX = 512 << 20  # bytes
_VALUE = "/.ATTRIBUTES/VARIABLE_VALUE"
_OBJECTS = "_CHECKPOINTABLE_OBJECT_GRAPH"
_OF_A_CHECKPOINT = re.compile(r"\.(data-\d{5}-of-\d{5}|index|meta)\Z")


def matches(path: Path) -> bool:
    """Whether it is a checkpoint's file or prefix, or a directory with indexes."""
    if path.is_dir():
        return any(_is_index(found) for found in sorted(path.glob("*.index"))[:100])
    return _is_index(index_path(prefix_of(path)))


def _is_index(path: Path) -> bool:
    try:
        with open_file(path) as file:
            file.seek(-8, 2)
            return file.read(8) == MAGIC
    except (OSError, RefusedError):
        return False


def is_index_file(below: PurePath) -> bool:
    """Whether a file in a folder is a checkpoint's index, by its name."""
    return below.suffix == ".index"


def read(path: Path, builder: RunBuilder) -> None:
    """Each checkpoint is a step; a directory with several series has a run per series."""
    series: dict[str, list[Path]] = defaultdict(list)
    for prefix in _prefixes(path):
        series[without_step(prefix.name)].append(prefix)
    for found in sorted(path.glob("*.index")) if path.is_dir() else ():
        if not _is_index(found):
            builder.note(f"Skipped: {found.name}: it is not an index of a checkpoint, or is damaged.")
    for name, prefixes in series.items():
        with builder.writer(name if len(series) > 1 else "") as out:
            for step, prefix in _steps(prefixes):
                out.progress(prefix.name)
                try:
                    write_arrays(out, stored_arrays(prefix), step)
                except RefusedError as error:
                    if not path.is_dir():
                        raise
                    out.note(f"Skipped: {prefix.name}: {error}")


def _prefixes(path: Path) -> list[Path]:
    if not path.is_dir():
        return [prefix_of(path)]
    return [prefix_of(found) for found in sorted(path.glob("*.index")) if _is_index(found)]


def _steps(prefixes: list[Path]) -> list[tuple[int, Path]]:
    """Ordered by the number at the end of a name, else by name."""
    numbered = [(step_in(prefix.name), prefix) for prefix in prefixes]
    if all(step is not None for step, _ in numbered):
        return sorted((step or 0, prefix) for step, prefix in numbered)
    return list(enumerate(prefixes))


def prefix_of(path: Path) -> Path:
    """The prefix that a checkpoint's files share, from it or from any of them."""
    return path.with_name(_OF_A_CHECKPOINT.sub("", path.name))


def index_path(prefix: Path) -> Path:
    """The index of a checkpoint."""
    return prefix.with_name(f"{prefix.name}.index")


def stored_arrays(prefix: Path) -> Iterator[StoredArray]:
    """The tensors of a checkpoint. Object-based ones (TF2) are named by their path from the saved object.

    Raises:
        RefusedError: the index is damaged, or big-endian.
    """
    table = entries(read_whole(index_path(prefix), MAX_INDEX))
    key, value = next(table, (None, b""))
    if key != b"":
        raise RefusedError(f"{prefix.name}.index has no header.")
    header = parse("BundleHeaderProto", value, f"The header of {prefix.name}.index")
    if header.endianness:
        raise RefusedError(f"{prefix.name} was written on a big-endian machine.")
    bundle = _Bundle(prefix, header.num_shards)
    for key, value in table:
        if key.startswith(SLICE_KEY):  # before all names
            bundle.slices[key] = value
            continue
        name = key.decode("utf-8", "replace")
        if name == _OBJECTS:
            continue

        def load(key: bytes = key, value: bytes = value) -> Array:
            return bundle.array(key, value)

        yield StoredArray(name.removesuffix(_VALUE), load)


class _Bundle:
    """The files of a checkpoint. `slices`: the entries of its slices, by their keys."""

    def __init__(self, prefix: Path, shards: int) -> None:
        self._prefix, self._shards = prefix, shards
        self._rooms: dict[int, ByteBudget] = {}
        self.slices: dict[bytes, bytes] = {}

    def array(self, key: bytes, value: bytes) -> Array:
        """The tensor of an entry. Raises RefusedError: it is damaged, or no array."""
        name = key.decode("utf-8", "replace")[:200]
        entry = parse("BundleEntryProto", value, f"The entry of {name!r}")
        dtype = data_type_name(entry.dtype)
        if dtype in ("resource", "variant", "invalid", "unknown"):
            raise RefusedError(f"It is a {dtype}, which is not an array.")
        extents = proto_shape(entry.shape) or ()
        shape = tuple(-1 if extent is None else extent for extent in extents)
        if entry.slices:
            return self._together(key, entry, numpy_dtype(dtype), shape, name)
        data = self._bytes(entry, shape, name)
        if dtype == "string":
            return _strings(data, shape, name, entry.crc32c)
        if entry.crc32c and masked_crc32c(data) != entry.crc32c:
            raise RefusedError("Its bytes are damaged: the checksum is wrong.")
        return from_bytes(data, numpy_dtype(dtype), shape, name)

    def _together(
        self, key: bytes, entry: Message, dtype: np.dtype[Any], shape: tuple[int, ...], name: str
    ) -> Array:
        check_array_size(shape, dtype.itemsize, name)
        parts = []
        for part in slices_of(entry):
            place = key_of(key, part)
            if key.startswith(SLICE_KEY) or place not in self.slices:
                raise RefusedError("It was saved in slices (a partitioned variable), and one is missing.")
            parts.append((part, self.array(place, self.slices[place])))
        return assemble(shape, dtype, parts)

    def _bytes(self, entry: Message, shape: tuple[int, ...], name: str) -> bytes:
        if not 0 <= entry.shard_id < self._shards <= 99_999:
            raise RefusedError(f"It refers to file {entry.shard_id}, but the checkpoint has {self._shards}.")
        check_array_size(shape, 1, name)
        check_array_size((entry.size,), 1, name)
        path = self._prefix.with_name(f"{self._prefix.name}.data-{entry.shard_id:05d}-of-{self._shards:05d}")
        try:
            with open_file(path) as file:
                self._rooms.setdefault(entry.shard_id, ByteBudget(file_size(file))).take(entry.size)
                return read_range(file, entry.offset, entry.size, name)
        except FileNotFoundError as error:
            raise RefusedError(f"The file {path.name} is missing.") from error


def _strings(data: bytes, shape: tuple[int, ...], name: str, crc: int) -> Array:
    """Lengths as varints, their checksum, then the bytes. `crc`: of the lengths as integers, that checksum
    and the bytes; 0 for none."""
    count = check_array_size(shape, 1, name)
    if count > len(data):
        raise RefusedError(f"{name} has {len(data):,} bytes for {count:,} strings.")
    at, lengths = 0, []
    for _ in range(count):
        length, at = read_varint(data, at)
        lengths.append(length)
    if at + 4 + sum(lengths) != len(data):
        raise RefusedError(f"{name} is damaged: its strings do not match its size.")
    numbers = b"".join(length.to_bytes(4 if length < 1 << 32 else 8, "little") for length in lengths)
    if crc and masked_crc32c(numbers + data[at:]) != crc:
        raise RefusedError("Its bytes are damaged: the checksum is wrong.")
    at += 4
    texts = np.empty(count, object)
    for i, length in enumerate(lengths):
        texts[i] = data[at : at + length]
        at += length
    return texts.reshape(shape)


def slices_of(entry: Message) -> list[Extents]:
    """The slices of a variable. Raises RefusedError: there are too many."""
    if len(entry.slices) > MAX_SLICES:
        raise RefusedError(f"It has {len(entry.slices):,} slices; the limit is {MAX_SLICES:,}.")
    return [tuple((e.start, e.length or _ALL) for e in part.extent) for part in entry.slices]


def key_of(name: bytes, part: Extents) -> bytes:
    """The key of a slice's entry."""
    escaped = b"".join(_ESCAPES.get(byte, bytes([byte])) for byte in name)
    head = SLICE_KEY + escaped + b"\0\1" + _number(len(part))
    return head + b"".join(_signed(number) for extent in part for number in extent)


def _number(number: int) -> bytes:
    """A number as its length in bytes, then the bytes."""
    data = number.to_bytes((number.bit_length() + 7) // 8, "big")
    return bytes([len(data)]) + data


def _signed(number: int) -> bytes:
    """Seven bits per byte; the first bits encode the length, inverted for negative numbers."""
    length = (~number if number < 0 else number).bit_length() // 7 + 1
    bits = 8 * length
    head = ((1 << length) - 1) << (bits - length)
    return ((number & ((1 << bits) - 1)) ^ head).to_bytes(length, "big")


def assemble(shape: tuple[int, ...], dtype: np.dtype[Any], parts: list[tuple[Extents, Array]]) -> Array:
    """The whole variable of a shape and dtype from its slices.

    Raises:
        RefusedError: the slices do not fill it, overlap, or are outside it.
    """
    if sum(array.size for _, array in parts) != math.prod(shape):
        raise RefusedError("Its slices do not cover it.")
    whole = np.zeros(shape, dtype)
    filled = np.zeros(shape, bool)
    for part, array in parts:
        place = _place(part, shape)
        if filled[place].shape != array.shape or filled[place].any() or array.dtype != dtype:
            raise RefusedError("Its slices overlap, or have the wrong shape or dtype.")
        whole[place] = array
        filled[place] = True
    return whole


def _place(part: Extents, shape: tuple[int, ...]) -> tuple[slice, ...]:
    if len(part) != len(shape):
        raise RefusedError("Its slices have the wrong rank.")
    place = []
    for (start, length), extent in zip(part, shape, strict=True):
        end = extent if length == _ALL else start + length
        if not 0 <= start <= end <= extent:
            raise RefusedError("A slice is out of bounds.")
        place.append(slice(start, end))
    return tuple(place)
