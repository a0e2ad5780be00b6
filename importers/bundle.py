"""TensorFlow's tensor bundles (checkpoints): an `.index` table, and `.data-…` files with the bytes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from tensortap.dump import data_type_name, numpy_dtype, proto_shape

from .arrays import Array, StoredArray, from_bytes
from .leveldb_table import entries, masked_crc32c
from .messages import Message, parse
from .refused import RefusedError
from .source_files import Room, file_size, open_file, read_range, read_whole
from .target import check_array_size
from .varint import read_varint

MAX_INDEX = 512 << 20  # bytes
_VALUE = "/.ATTRIBUTES/VARIABLE_VALUE"
_OBJECTS = "_CHECKPOINTABLE_OBJECT_GRAPH"
_DATA = re.compile(r"\.data-\d{5}-of-\d{5}\Z")


def prefix_of(path: Path) -> Path:
    """The prefix that a checkpoint's files share, from it or from any of them."""
    name = path.name.removesuffix(".index") if path.name.endswith(".index") else _DATA.sub("", path.name)
    return path.with_name(name)


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
    rooms: dict[int, Room] = {}
    for key, value in table:
        name = key.decode("utf-8", "replace")
        if name == _OBJECTS or key.startswith(b"\0"):  # (slices, which their variable is noted for)
            continue

        def load(name: str = name, value: bytes = value) -> Array:
            entry = parse("BundleEntryProto", value, f"The entry of {name[:200]!r}")
            return _array(prefix, header.num_shards, entry, name, rooms)

        yield StoredArray(name.removesuffix(_VALUE), load)


def _array(prefix: Path, shards: int, entry: Message, name: str, rooms: dict[int, Room]) -> Array:
    if entry.slices:
        raise RefusedError("It was saved in slices (a partitioned variable), which are not put together.")
    dtype = data_type_name(entry.dtype)
    if dtype in ("resource", "variant", "invalid", "unknown"):
        raise RefusedError(f"It holds a {dtype}, which is no array.")
    extents = proto_shape(entry.shape) or ()
    shape = tuple(-1 if extent is None else extent for extent in extents)
    data = _bytes(prefix, shards, entry, name, shape, rooms)
    if dtype == "string":
        return _strings(data, shape, name)
    if entry.crc32c and masked_crc32c(data) != entry.crc32c:
        raise RefusedError("Its bytes are damaged: the checksum is wrong.")
    return from_bytes(data, numpy_dtype(dtype), shape, name[:200])


def _bytes(
    prefix: Path, shards: int, entry: Message, name: str, shape: tuple[int, ...], rooms: dict[int, Room]
) -> bytes:
    if not 0 <= entry.shard_id < shards <= 99_999:
        raise RefusedError(f"It should lie in file {entry.shard_id} of {shards}.")
    check_array_size(shape, 1, name[:200])
    check_array_size((entry.size,), 1, name[:200])
    path = prefix.with_name(f"{prefix.name}.data-{entry.shard_id:05d}-of-{shards:05d}")
    try:
        with open_file(path) as file:
            rooms.setdefault(entry.shard_id, Room(file_size(file))).take(entry.size)
            return read_range(file, entry.offset, entry.size, name[:200])
    except FileNotFoundError as error:
        raise RefusedError(f"The file {path.name} is missing.") from error


def _strings(data: bytes, shape: tuple[int, ...], name: str) -> Array:
    """Lengths as varints, their checksum, then the bytes."""
    count = check_array_size(shape, 1, name[:200])
    if count > len(data):
        raise RefusedError(f"{name[:200]} has {len(data):,} bytes for {count:,} strings.")
    at, lengths = 0, []
    for _ in range(count):
        length, at = read_varint(data, at)
        lengths.append(length)
    at += 4
    if at + sum(lengths) != len(data):
        raise RefusedError(f"{name[:200]} is damaged: its strings do not fill its bytes.")
    texts = np.empty(count, object)
    for i, length in enumerate(lengths):
        texts[i] = data[at : at + length]
        at += length
    return texts.reshape(shape)
