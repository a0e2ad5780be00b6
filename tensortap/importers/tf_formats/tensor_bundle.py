"""TensorFlow's tensor bundles (checkpoints): an `.index` table, and `.data-…` files with the bytes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from tensortap.core.dtypes import Array, numpy_dtype
from tensortap.tfproto.proto_classes import Message
from tensortap.tfproto.tensor_proto import data_type_name, proto_shape
from tensortap.tfproto.tfrecord import masked_crc32c

from ..arrays.stored_array import StoredArray, from_bytes
from ..errors import RefusedError
from ..run_builder import check_array_size
from ..safe_io import ByteBudget, file_size, open_file, read_range, read_whole
from .leveldb_table import entries
from .partitioned_variables import MARK, assemble, key_of, slices_of
from .protos import parse, read_varint

MAX_INDEX = 512 << 20  # bytes
_VALUE = "/.ATTRIBUTES/VARIABLE_VALUE"
_OBJECTS = "_CHECKPOINTABLE_OBJECT_GRAPH"
_OF_A_CHECKPOINT = re.compile(r"\.(data-\d{5}-of-\d{5}|index|meta)\Z")


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
        if key.startswith(MARK):  # before all names
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
            raise RefusedError(f"It holds a {dtype}, which is no array.")
        extents = proto_shape(entry.shape) or ()
        shape = tuple(-1 if extent is None else extent for extent in extents)
        if entry.slices:
            return self._together(key, entry, numpy_dtype(dtype), shape, name)
        data = self._bytes(entry, shape, name)
        if dtype == "string":
            return _strings(data, shape, name)
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
            if key.startswith(MARK) or place not in self.slices:
                raise RefusedError("It was saved in slices (a partitioned variable), and one is missing.")
            parts.append((part, self.array(place, self.slices[place])))
        return assemble(shape, dtype, parts)

    def _bytes(self, entry: Message, shape: tuple[int, ...], name: str) -> bytes:
        if not 0 <= entry.shard_id < self._shards <= 99_999:
            raise RefusedError(f"It should lie in file {entry.shard_id} of {self._shards}.")
        check_array_size(shape, 1, name)
        check_array_size((entry.size,), 1, name)
        path = self._prefix.with_name(f"{self._prefix.name}.data-{entry.shard_id:05d}-of-{self._shards:05d}")
        try:
            with open_file(path) as file:
                self._rooms.setdefault(entry.shard_id, ByteBudget(file_size(file))).take(entry.size)
                return read_range(file, entry.offset, entry.size, name)
        except FileNotFoundError as error:
            raise RefusedError(f"The file {path.name} is missing.") from error


def _strings(data: bytes, shape: tuple[int, ...], name: str) -> Array:
    """Lengths as varints, their checksum, then the bytes."""
    count = check_array_size(shape, 1, name)
    if count > len(data):
        raise RefusedError(f"{name} has {len(data):,} bytes for {count:,} strings.")
    at, lengths = 0, []
    for _ in range(count):
        length, at = read_varint(data, at)
        lengths.append(length)
    at += 4
    if at + sum(lengths) != len(data):
        raise RefusedError(f"{name} is damaged: its strings do not fill its bytes.")
    texts = np.empty(count, object)
    for i, length in enumerate(lengths):
        texts[i] = data[at : at + length]
        at += length
    return texts.reshape(shape)
