"""A file of named arrays and a JSON object: written as a whole, checked before use, mapped into memory.

8 bytes magic, u32 length of the header, u32 its CRC-32C, header (JSON, with the file's own name, so that
another one in its place is noticed), then the arrays, each at a multiple of 64
"""

from __future__ import annotations

import json
import mmap
import os
import struct
import threading
from collections.abc import Collection, Mapping
from io import RawIOBase
from pathlib import Path
from typing import Any
from weakref import WeakSet

import numpy as np

from tensortap.core.dtypes import Array
from tensortap.storage.files import crc32c, published

MAGIC = b"TTINDEX1"
_HEAD = struct.Struct("<8sII")
_ALIGN = 64
_MAX_HEADER = 1 << 30
_READ_BYTES = 256 << 10  # checked at a time: larger buffers get new memory each time, which takes longer
_MAPPED: WeakSet[mmap.mmap] = WeakSet()
_MAPPED_LOCK = threading.Lock()  # iterating while another thread adds raises
_DTYPES = {np.dtype(name).str for name in ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f8", "?")}


class ContainerError(Exception):
    """Internal: a file of the saved index is unusable and is built again from the dump."""


def write_container(
    path: Path, about: Mapping[str, Any], arrays: Mapping[str, Array], unchecked: Collection[str] = ()
) -> None:
    """Writes a file under a temporary name and renames it.

    Args:
        about: what JSON can say.
        arrays: one-dimensional. `unchecked`: names of arrays that have their own checksums.

    Raises:
        OSError: the disk refused; nothing is left behind.
    """
    entries, at = [], 0
    for name, array in arrays.items():
        crc = None if name in unchecked else crc32c(_octets(array))
        entries.append([name, array.dtype.str, len(array), at, crc])
        at += array.nbytes + -array.nbytes % _ALIGN
    header = json.dumps({"name": path.name, "about": about, "arrays": entries, "size": at}).encode()
    header += b" " * (-(len(header) + _HEAD.size) % _ALIGN)
    with published(path) as temporary, temporary.open("xb") as file:
        file.write(_HEAD.pack(MAGIC, len(header), crc32c(header)) + header)
        for array in arrays.values():
            file.write(_octets(array).data)
            file.write(bytes(-array.nbytes % _ALIGN))


def read_container(path: Path) -> tuple[Any, dict[str, Array]]:
    """(about, arrays) of a file; the arrays are mapped, not read.

    Raises:
        ContainerError: it is missing, cut or damaged, or another file.
    """
    try:
        with path.open("rb", buffering=0) as file:
            about, entries, start = _read_header(file, path.name)
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            with _MAPPED_LOCK:
                _MAPPED.add(mapped)
            arrays = {}
            for name, dtype, count, at, crc in entries:
                array = np.frombuffer(mapped, dtype, count, start + at)
                if crc is not None:
                    _check(file, start + at, array.nbytes, crc)
                arrays[name] = array
    except (OSError, ValueError, TypeError, KeyError, struct.error, RecursionError) as error:
        raise ContainerError(f"{path.name}: {error}") from error
    return about, arrays


def release_pages() -> None:
    """Takes what was read of all mapped files out of this process's memory; it is read again on use."""
    if hasattr(mmap, "MADV_DONTNEED"):
        with _MAPPED_LOCK:
            all_mapped = list(_MAPPED)
        for mapped in all_mapped:
            mapped.madvise(mmap.MADV_DONTNEED)


def _read_header(file: RawIOBase, name: str) -> tuple[Any, list[list[Any]], int]:
    size = os.fstat(file.fileno()).st_size
    magic, length, crc = _HEAD.unpack(file.read(_HEAD.size) or b"")
    if magic != MAGIC or length > min(size, _MAX_HEADER):
        raise ValueError("not a saved index")
    text = file.read(length) or b""
    if crc32c(text) != crc:
        raise ValueError("the header is damaged")
    header = json.loads(text)
    if header["name"] != name:
        raise ValueError(f"it was written as {header['name']}")
    start = _HEAD.size + length
    if size != start + header["size"]:
        raise ValueError("the file is truncated")
    for _, dtype, count, at, _ in header["arrays"]:
        if dtype not in _DTYPES or min(count, at) < 0 or start + at + count > size:
            raise ValueError("the header is invalid")
    return header["about"], header["arrays"], start


def _check(file: RawIOBase, start: int, length: int, crc: int) -> None:
    """Verifies an array without the memory map, so that its pages do not stay in this process's memory."""
    found = 0
    file.seek(start)
    for at in range(0, length, _READ_BYTES):
        found = crc32c(file.read(min(_READ_BYTES, length - at)) or b"", found)
    if found != crc:
        raise ValueError("an array is damaged")


def _octets(array: Array) -> Array:
    return np.ascontiguousarray(array).view(np.uint8)
