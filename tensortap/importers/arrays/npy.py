"""`.npy`: one array. Object arrays are refused: reading them would run what the file says."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from tensortap.core.dtypes import Array

from ..errors import RefusedError
from ..run_builder import check_array_size
from ..source_files import file_size, open_file
from .stored_array import StoredArray

MAGIC = b"\x93NUMPY"
_PIECE = 16 << 20  # bytes read at a time: what a header promises is not allocated before it is there


def stored_arrays(path: Path) -> Iterator[StoredArray]:
    """The one array of a file, under the file's name."""
    yield StoredArray(path.name.removesuffix(".npy"), lambda: _read_file(path))


def _read_file(path: Path) -> Array:
    with open_file(path) as file:
        return read_npy(file, file_size(file), path.name)


def read_npy(file: Any, available: int, what: str) -> Array:
    """Reads an array from a stream that has `available` bytes.

    Raises:
        RefusedError: it is damaged, or holds objects or structs.
    """
    shape, column_major, dtype = _header(file, what)
    if dtype.hasobject:
        raise RefusedError(
            f"{what} holds Python objects (pickle), which could run anything.",
            "Save it again as numbers or text: array.astype(float).",
        )
    if dtype.names is not None or dtype.subdtype is not None or not dtype.itemsize or dtype.kind == "V":
        raise RefusedError(f"{what} holds structs ({str(dtype)[:80]}).", "Save their fields one by one.")
    length = check_array_size(shape, dtype.itemsize, what)
    if length > available:
        raise RefusedError(f"{what} is cut off: {length:,} bytes are missing some.")
    data = _read(file, length)
    if len(data) != length:
        raise RefusedError(f"{what} is cut off: {len(data):,} of {length:,} bytes are there.")
    flat = np.frombuffer(data, dtype)
    return flat.reshape(shape[::-1]).T if column_major else flat.reshape(shape)


def _header(file: BinaryIO, what: str) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # headers of Python 2, which NumPy parses more slowly
            version = np.lib.format.read_magic(file)
            if version == (1, 0):
                return np.lib.format.read_array_header_1_0(file)
            if version == (2, 0):
                return np.lib.format.read_array_header_2_0(file)
    except RefusedError:
        raise
    except Exception as error:  # NumPy evaluates literals here, which fail in many ways
        raise RefusedError(f"{what} is no .npy file, or a damaged one: {str(error)[:200]}") from error
    raise RefusedError(f"{what} is a .npy file of version {version}, which holds structs only.")


def _read(file: BinaryIO, length: int) -> bytes:
    pieces = []
    while length and (piece := file.read(min(length, _PIECE))):
        pieces.append(piece)
        length -= len(piece)
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)
